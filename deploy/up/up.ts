import { readFileSync, rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { secretsOf } from '#common/secrets.ts'
import { signIn } from '../api/session.ts'
import { cloudAccount, writeCloudsFile } from '../deployment/clouds-file.ts'
import { type Layout, makeFolders } from '../deployment/layout.ts'
import { assertSame, assignmentsOf, type UpOptions } from '../deployment/options.ts'
import { canBeJoinedByOvn, planDeployment } from '../deployment/plan.ts'
import { changedSettings } from '../deployment/program-settings.ts'
import {
  type ChosenDriver,
  type DeploymentState,
  type ExposedAddress,
  loadState,
  saveState,
} from '../deployment/state.ts'
import { bringDown } from '../down/bring-down.ts'
import { stopCell } from '../down/forget-cell.ts'
import { chooseDriver } from '../hypervisors/choose-driver.ts'
import { hostShare, sharesMachine } from '../hypervisors/host-share.ts'
import { prepareHosts } from '../hypervisors/prepare-hosts.ts'
import { stopHosts } from '../hypervisors/stop-hosts.ts'
import { writeMonitoring } from '../monitoring/write-monitoring.ts'
import { keyPair } from '../nats/nats-keys.ts'
import { keepHostRoute, startNetwork } from '../ovn/deployment-network.ts'
import { installPackages } from '../packages/install-packages.ts'
import { freePort } from '../process/free-port.ts'
import { isUp } from '../status/is-up.ts'
import { elsewhereOf, forgetElsewhere } from './elsewhere.ts'
import { enrolMachines } from './enrol-machines.ts'
import { assertPortFree, endpointOf, keepCertificate, withFreePorts } from './exposed.ts'
import { cellsGone, fillGlobalDatabase } from './fill-global-database.ts'
import { bootFirstServer, makeCatalog, makeExternalNetwork } from './make-demo.ts'
import { keepAccounts, prepareBus } from './prepare-bus.ts'
import { type DatabaseFiles, prepareDatabases } from './prepare-databases.ts'
import { computePrograms, gatewayKeyFile, serverPrograms } from './programs.ts'
import { type Bus, type Databases, startServices } from './services.ts'
import { type StartPrograms, startPrograms } from './start-programs.ts'
import { PortTaken, waitForGateways, waitForHosts } from './wait-ready.ts'

type Progress = (line: string) => void

const CONNECTIONS = 2
/** Of a control plane alone. */
const NO_HOSTS: ChosenDriver = { name: 'fake', why: 'there are no hosts here' }
const PORT_TRIES_MAX = 3
/** Of HTTPS, or a free one. */
const TLS_PORT = 8443

export interface UpResult {
  readonly state: DeploymentState
  /** `already`: nothing had to be done. `created`: passwords are new. */
  readonly what: 'already' | 'created' | 'started'
}

/**
 * Afterwards the deployment of this folder runs, whole: what was missing is installed, what was stopped or died is
 * started, what was never made is made. A deployment that runs already is left as it is, unless its programs are started
 * by another `start` than the usual one.
 */
export async function bringUp(
  layout: Layout,
  options: UpOptions,
  progress: Progress,
  start: StartPrograms = startPrograms,
): Promise<UpResult> {
  if (options.fresh === true) await removeDeployment(layout, progress)
  const found = loadState(layout)
  if (found !== undefined) assertSame(options, found)
  const settings = await changedSettings(found?.settings ?? {}, assignmentsOf(options))
  const isChanged = !isDeepStrictEqual(settings, found?.settings ?? {})
  const isRouted = options.hostRoute === true && found?.hostRoute !== true
  if (isRouted && found !== undefined) refuseHostRoute(found)
  const exposed = found && (await newlyExposed(found, options))
  const known = found && {
    ...found,
    ...(isChanged && { settings }),
    ...(isRouted && { hostRoute: true as const }),
    ...(exposed && { exposed }),
  }
  if (known !== undefined && (isChanged || isRouted || exposed)) saveState(layout, known)
  const isToStart = isChanged || exposed !== undefined || start !== startPrograms
  if (known !== undefined && !isToStart && (await isUp(layout, known))) {
    await keepHostRoute(layout, known, progress)
    return { state: known, what: 'already' }
  }
  if (known?.joined !== undefined) {
    const { startCell } = await import('../join/start-cell.ts')
    return { state: await startCell(layout, known, progress, start), what: 'started' }
  }
  if (known?.host !== undefined) {
    const { startHost } = await import('../join/start-host.ts')
    return { state: await startHost(layout, known, progress, start), what: 'started' }
  }
  if (known === undefined && options.port !== undefined) await assertPortFree(options.port)
  makeFolders(layout)
  await installPackages(['base'], progress)
  const address = known?.exposed?.address ?? options.address
  if (address !== undefined) await keepCertificate(layout, address)
  const elsewhere = known?.elsewhere ?? (await elsewhereOf(layout, options))
  const services = await startServices(layout, { elsewhere }, progress)
  const planned = known ?? (await plan(layout, options, services.bus, progress))
  const wanted = known ?? { ...planned, settings, ...(elsewhere && { elsewhere }) }
  const started = await startOnFreePorts(layout, wanted, { ...services, start }, progress)
  progress(`The endpoint serves: ${endpointOf(started)}`)
  const admin = await signIn(endpointOf(started), cloudAccount(layout, 'weir-admin'))
  const hasCells = started.cells.length > 0
  if (known?.isReady !== true && hasCells) await makeCatalog(admin, started, progress)
  await waitForHosts(layout, started, admin)
  if (known?.isReady === true) return { state: started, what: 'started' }
  if (started.driver.name === 'baremetal') await enrolMachines(admin, layout, started, progress)
  await makeExternalNetwork(admin, started)
  if (hasCells) await bootFirstServer(layout, started, progress)
  const ready = { ...started, isReady: true }
  saveState(layout, ready)
  return { state: ready, what: 'created' }
}

/** What the programs are started on, and by. */
interface Services {
  readonly databases: Databases
  readonly bus: Bus
  readonly start: StartPrograms
}

/**
 * The same as `startAll`, at ports that are free. A port that another program takes meanwhile, such as a deployment that
 * is started at the same time, is exchanged for another, a few times.
 */
async function startOnFreePorts(
  layout: Layout,
  wanted: DeploymentState,
  services: Services,
  progress: Progress,
): Promise<DeploymentState> {
  for (let tries = 1; ; tries += 1) {
    const before = tries === 1 ? wanted : (loadState(layout) ?? wanted)
    const planned = await withFreePorts(before, progress)
    saveState(layout, planned)
    try {
      return await startAll(layout, planned, services, progress)
    } catch (error) {
      if (!(error instanceof PortTaken) || tries === PORT_TRIES_MAX) throw error
    }
  }
}

/** Afterwards every process runs and every gateway serves. Hypervisors take longest, so all else starts meanwhile. */
async function startAll(
  layout: Layout,
  planned: DeploymentState,
  { databases: servers, bus, start }: Services,
  progress: Progress,
): Promise<DeploymentState> {
  const starting = startNetwork(layout, planned, progress)
  const startServers = async () => {
    const [credentials, databases, network] = await Promise.all([
      prepareBus(layout, bus, planned),
      prepareDatabases(layout, servers, planned),
      starting,
    ])
    const { region, exposed } = planned
    const remote = exposed && `https://${exposed.address}:${exposed.port}`
    await writeMonitoring(layout)
    writeCloudsFile(layout, { local: endpointOf(planned), remote, region })
    const present = await fillDatabase(layout, planned, { bus, databases }, progress)
    progress('Starting gateways and cells ...')
    const wiring = { bus, credentials, databases, network }
    const programs = await serverPrograms(layout, present, wiring)
    return { wiring, state: await start(layout, present, programs) }
  }
  const [{ wiring, state }, { settings, guests }] = await Promise.all([
    startServers(),
    starting.then((network) => prepareHosts(layout, planned, progress, network)),
  ])
  const gone = planned.cells.filter(({ id }) => !state.cells.some((cell) => cell.id === id))
  if (gone.length > 0) await stopHosts(layout, { ...planned, cells: gone })
  progress('Starting computes ...')
  const driver = { ...state.driver, ...(guests === undefined ? {} : { guests }) }
  const computes = computePrograms(layout, state, wiring, settings)
  const started = await start(layout, { ...state, driver }, computes)
  await waitForGateways(layout, started)
  return started
}

/** Afterwards the global database and the bus know the cells. Returns the deployment without those that have left it. */
async function fillDatabase(
  layout: Layout,
  planned: DeploymentState,
  { bus, databases }: { readonly bus: Bus; readonly databases: DatabaseFiles },
  progress: Progress,
): Promise<DeploymentState> {
  const url = readFileSync(databases.gateway, 'utf8')
  const secrets = secretsOf(readFileSync(await gatewayKeyFile(layout), 'utf8'))
  await using db = new Database({ url, connectionsMax: CONNECTIONS })
  const gone = await cellsGone(planned, db)
  let present = planned
  for (const cell of gone) {
    progress(`Cell ${cell.name} has left, or was declared lost: it is not started.`)
    present = await stopCell(present, cell)
  }
  if (gone.length > 0) saveState(layout, present)
  await fillGlobalDatabase(layout, present, db, secrets)
  await keepAccounts(bus, db)
  return present
}

/** The address that an existing deployment is served at from now on; undefined where that does not change. */
async function newlyExposed(
  { exposed, gateways }: DeploymentState,
  { address }: UpOptions,
): Promise<ExposedAddress | undefined> {
  if (address === undefined || exposed !== undefined) return undefined
  if (gateways.length === 0)
    throw new Failure('invalid', '--address is for gateways, and this deployment has none.')
  return { address, port: await freePort(TLS_PORT, address) }
}

/** Throws `invalid` for a deployment without floating IPs. */
function refuseHostRoute({ network, driver }: DeploymentState): void {
  if (network === 'ovn') return
  throw new Failure(
    'invalid',
    `--host-route leads to floating IPs, which need --network ovn, and this deployment of ${driver.name} hosts runs without it.`,
  )
}

async function plan(
  layout: Layout,
  options: UpOptions,
  bus: Bus,
  progress: Progress,
): Promise<DeploymentState> {
  const driver = options.cells === 0 ? NO_HOSTS : chooseDriver(options.driver ?? 'auto')
  progress(`Driver ${driver.name}: ${driver.why}`)
  if (options.network === 'ovn' && !canBeJoinedByOvn(driver))
    throw new Failure(
      'invalid',
      `--network ovn joins hosts of libvirt, Docker and bare metal, and this deployment runs ${driver.name}: ${driver.why}`,
    )
  const state = await planDeployment(options, driver, keyPair(bus.keys.gatewaySeed).getPublicKey())
  if (options.hostRoute === true) refuseHostRoute(state)
  const { address } = options
  const exposed =
    address === undefined ? {} : { exposed: { address, port: await freePort(TLS_PORT, address) } }
  if (!sharesMachine(driver)) return { ...state, ...exposed }
  const hosts = state.cells.flatMap((cell) => cell.hosts)
  return { ...state, ...exposed, hostShare: hostShare(hosts.length, layout.home) }
}

/** Afterwards nothing of the deployment runs or is left; unpacked programs and built guests stay. */
async function removeDeployment(layout: Layout, progress: Progress): Promise<void> {
  await bringDown(layout, progress)
  await forgetElsewhere(layout)
  const { stateFile, cloudsFile, mariadb, nats, secrets, monitoring } = layout
  const own = [stateFile, cloudsFile, mariadb, nats, secrets, monitoring]
  for (const path of [
    ...own,
    layout.logs,
    layout.compileCache,
    layout.images,
    layout.hosts,
    layout.ovn,
  ])
    rmSync(path, { recursive: true, force: true })
}
