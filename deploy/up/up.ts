import { rmSync } from 'node:fs'
import { writeCloudsFile } from '../deployment/clouds-file.ts'
import { type Layout, makeFolders } from '../deployment/layout.ts'
import { assertSame, type UpOptions } from '../deployment/options.ts'
import { planDeployment } from '../deployment/plan.ts'
import { type DeploymentState, loadState, saveState } from '../deployment/state.ts'
import { bringDown } from '../down/bring-down.ts'
import { chooseDriver } from '../hypervisors/choose-driver.ts'
import { prepareHosts } from '../hypervisors/prepare-hosts.ts'
import { startMariadb } from '../mariadb.ts'
import { keyPair } from '../nats/nats-keys.ts'
import { type Nats, startNats } from '../nats.ts'
import { installPackages } from '../packages/install-packages.ts'
import { isUp } from '../status/is-up.ts'
import { endpointOf } from './endpoint.ts'
import { fillGlobalDatabase } from './fill-global-database.ts'
import { makeDemo } from './make-demo.ts'
import { prepareBus } from './prepare-bus.ts'
import { prepareDatabases } from './prepare-databases.ts'
import { deploymentPrograms } from './programs.ts'
import { startPrograms } from './start-programs.ts'
import { waitForGateways } from './wait-ready.ts'

type Progress = (line: string) => void

export interface UpResult {
  readonly state: DeploymentState
  /** `already`: nothing had to be done. `created`: passwords are new. */
  readonly what: 'already' | 'created' | 'started'
}

/**
 * Afterwards the deployment of this folder runs, whole: what was missing is installed, what was stopped or died is
 * started, what was never made is made. A deployment that runs already is left as it is.
 */
export async function bringUp(
  layout: Layout,
  options: UpOptions,
  progress: Progress,
): Promise<UpResult> {
  if (options.fresh === true) await removeDeployment(layout, progress)
  const known = loadState(layout)
  if (known !== undefined) assertSame(options, known)
  if (known !== undefined && isUp(layout, known)) return { state: known, what: 'already' }
  makeFolders(layout)
  await installPackages(['base'], progress)
  progress('Starting MariaDB and NATS ...')
  const [mariadb, nats] = await Promise.all([
    startMariadb(layout.mariadb, 'detached'),
    startNats(layout.nats, 'detached'),
  ])
  const planned = known ?? (await plan(layout, options, nats, progress))
  const [credentials, databases] = await Promise.all([
    prepareBus(layout, nats, planned),
    prepareDatabases(layout, mariadb, planned),
  ])
  writeCloudsFile(layout, endpointOf(planned), planned.region)
  await fillGlobalDatabase(layout, planned, databases.gateway)
  const driverSettings = await prepareHosts(layout, planned, progress)
  progress('Starting gateways, cells and computes ...')
  const wiring = { nats, credentials, databases, driverSettings }
  const programs = await deploymentPrograms(layout, planned, wiring)
  const started = await startPrograms(layout, planned, programs)
  await waitForGateways(layout, started)
  progress(`The endpoint serves: ${endpointOf(started)}`)
  if (known?.isReady === true) return { state: started, what: 'started' }
  await makeDemo(layout, started, progress)
  const ready = { ...started, isReady: true }
  saveState(layout, ready)
  return { state: ready, what: 'created' }
}

async function plan(
  layout: Layout,
  options: UpOptions,
  nats: Nats,
  progress: Progress,
): Promise<DeploymentState> {
  const driver = chooseDriver(options.driver ?? 'auto')
  progress(`Driver ${driver.name}: ${driver.why}`)
  const state = await planDeployment(options, driver, keyPair(nats.keys.gatewaySeed).getPublicKey())
  saveState(layout, state)
  return state
}

/** Afterwards nothing of the deployment runs or is left; unpacked programs and built guests stay. */
async function removeDeployment(layout: Layout, progress: Progress): Promise<void> {
  await bringDown(layout, progress)
  const own = [layout.stateFile, layout.cloudsFile, layout.mariadb, layout.nats, layout.secrets]
  for (const path of [...own, layout.logs, layout.compileCache, layout.images, layout.hosts])
    rmSync(path, { recursive: true, force: true })
}
