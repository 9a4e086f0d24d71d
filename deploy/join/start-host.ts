import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, saveState } from '../deployment/state.ts'
import { prepareHosts } from '../hypervisors/prepare-hosts.ts'
import { computeProgram } from '../processes/compute.ts'
import { startPrograms } from '../up/start-programs.ts'
import { certificateFile, uplinkCredentialsFile } from './uplink.ts'
import { hearCell } from './wait-for-host.ts'

/** Afterwards the hypervisor and the compute of a host that has joined run; the first time, its cell knows it, too. */
export async function startHost(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<DeploymentState> {
  const { host } = state
  if (host === undefined) throw new Error('This is no host that has joined')
  const { settings, guests } = await prepareHosts(layout, state, progress)
  progress('Starting the compute ...')
  const own = certificateFile(layout)
  const caFile = existsSync(own) ? own : undefined
  const program = computeProgram(
    host.cell,
    host,
    {
      natsUrl: host.busUrl,
      natsCredentialsFile: uplinkCredentialsFile(layout),
      gatewayUrl: host.gatewayUrl,
      imageUrl: host.imageUrl,
      caFile,
      stateDirectory: join(layout.hosts, host.name),
      driver: state.driver.name,
      driverSettings: settings.get(host.id) ?? {},
    },
    state.settings,
  )
  const driver = { ...state.driver, ...(guests === undefined ? {} : { guests }) }
  const start = () => startPrograms(layout, { ...state, driver }, [program])
  const running = state.isReady ? await start() : await hearCell(layout, host, start, caFile)
  const ready = { ...running, isReady: true }
  saveState(layout, ready)
  return ready
}
