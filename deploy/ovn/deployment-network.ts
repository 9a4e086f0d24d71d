import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedCells, launchedHosts } from '../deployment/state.ts'
import { runningHolder } from '../namespace/holder-file.ts'
import type { Holder } from '../namespace/namespace.ts'
import { installPackages } from '../packages/install-packages.ts'
import { type RunningOvnCentral, startOvnCentral, stopOvnCentral } from './central.ts'
import { startOvnHost } from './host.ts'
import { addHostRoute, describeHostRoute, removeHostRoute } from './host-route.ts'
import { type RunningUnderlay, startUnderlay, stopUnderlay } from './underlay.ts'

/** The network of a deployment's guests: an OVN for each cell, and a network between all hosts. */
export interface DeploymentNetwork {
  readonly underlay: RunningUnderlay
  readonly centrals: ReadonlyMap<CellId, RunningOvnCentral>
}

/** The network that hosts are joined to, and their deployment. */
export interface JoinedHosts {
  readonly network: DeploymentNetwork
  readonly state: DeploymentState
}

/** The physical network that leads to the deployment's own outside. */
export const PUBLIC = 'public'
/** The physical network that simulated machines are on. */
export const SITE = 'site'

/** The most hosts on one machine: two bytes of an address. */
const HOSTS_MAX = 65_000

/** Afterwards the databases of each cell's OVN run; undefined for a deployment whose hosts have bridges of their own. */
export async function startNetwork(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<DeploymentNetwork | undefined> {
  if (state.network !== 'ovn') return undefined
  await installPackages(['ovn'], progress)
  progress('Starting OVN ...')
  const startOutside = async () => {
    const started = await startUnderlay(underlayFolder(layout))
    await keepHostRoute(layout, state, progress)
    return started
  }
  const [underlay, ...centrals] = await Promise.all([
    startOutside(),
    ...launchedCells(state).map(async ({ id, name }) => {
      return [id, await startOvnCentral(centralFolder(layout, name))] as const
    }),
  ])
  return { underlay, centrals: new Map(centrals) }
}

/** Afterwards this machine reaches floating IPs, if the deployment has a host route and its network outside runs. */
export async function keepHostRoute(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  const outside = state.hostRoute === true ? await runningHolder(underlayFolder(layout)) : undefined
  if (outside !== undefined && (await addHostRoute(outside))) progress(describeHostRoute())
}

/** The folder for the files and sockets of a host's Open vSwitch. */
export function switchFolder(layout: Layout, host: string): string {
  return join(layout.hosts, host, 'ovs')
}

/** Afterwards the host of this id, whose namespaces run, is joined to its cell's OVN. */
export async function joinNetwork(
  layout: Layout,
  state: DeploymentState,
  { underlay, centrals }: DeploymentNetwork,
  host: { readonly id: string; readonly name: string; readonly holder: Holder },
): Promise<void> {
  const cell = launchedCells(state).find(({ hosts }) => hosts.some(({ id }) => id === host.id))
  const central = cell && centrals.get(cell.id)
  if (central === undefined) throw new Error(`Host ${host.name} is of no cell with OVN`)
  await startOvnHost({
    holder: host.holder,
    directory: switchFolder(layout, host.name),
    chassis: host.id,
    southbound: central.southbound,
    underlay: { ...underlay, address: addressOf(state, host.id) },
    physicalNetworks: {
      [PUBLIC]: underlay.publicBridge,
      ...(state.driver.name === 'baremetal' && { [SITE]: underlay.siteBridge }),
    },
  })
}

/** The settings of a host's driver by which it finds the host's part of OVN. */
export function ovnSettings(
  layout: Layout,
  name: string,
  holder: Holder,
): Readonly<Record<string, string>> {
  return {
    network: 'ovn',
    ovs_database: `unix:${join(switchFolder(layout, name), 'db.sock')}`,
    network_namespace: `/proc/${holder.pid}/ns/net`,
  }
}

/** Afterwards no database of OVN runs, and the network between the hosts is gone. */
export async function stopNetwork(layout: Layout, state: DeploymentState): Promise<void> {
  if (state.network !== 'ovn') return
  await Promise.all(launchedCells(state).map(({ name }) => stopCellNetwork(layout, name)))
  const outside = await runningHolder(underlayFolder(layout))
  if (outside !== undefined) await removeHostRoute(outside)
  await stopUnderlay(underlayFolder(layout))
}

/** Afterwards the databases of the cell's OVN do not run, if it has one. */
export async function stopCellNetwork(layout: Layout, cell: string): Promise<void> {
  await stopOvnCentral(centralFolder(layout, cell))
}

/** The process that holds the outside of all hosts, where floating IPs are reached; undefined when it does not run. */
export async function outsidePid(layout: Layout): Promise<number | undefined> {
  return (await runningHolder(underlayFolder(layout)))?.pid
}

/** The process that holds the databases of a cell's OVN; undefined when they do not run. */
export async function centralPid(layout: Layout, cell: string): Promise<number | undefined> {
  return (await runningHolder(centralFolder(layout, cell)))?.pid
}

function centralFolder(layout: Layout, cell: string): string {
  return join(layout.ovn, cell)
}

function underlayFolder(layout: Layout): string {
  return join(layout.ovn, 'underlay')
}

/** The same at every start, and different for every host. */
function addressOf(state: DeploymentState, id: string): string {
  const number = launchedHosts(state).findIndex((host) => host.id === id) + 1
  if (number > HOSTS_MAX)
    throw new Failure(
      'invalid',
      `With --network ovn a machine can have at most ${HOSTS_MAX} hosts; this deployment has more.`,
    )
  return `10.255.${number >> 8}.${number & 0xff}`
}
