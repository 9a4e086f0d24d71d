import { join } from 'node:path'
import type { DriverName } from '#drivers/driver.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedCells, launchedHosts } from '../deployment/state.ts'
import { dockerEnginePid } from '../docker-engine/docker-engine.ts'
import { libvirtHostPid } from '../libvirt-host/libvirt-host.ts'
import { runningMariadb } from '../mariadb.ts'
import { runningNats } from '../nats.ts'
import { centralPid } from '../ovn/deployment-network.ts'
import { isRunning } from '../process/process-identity.ts'
import { processTree } from '../process/process-tree.ts'

export interface ProcessState {
  readonly name: string
  readonly isAlive: boolean
  /** Absent when it does not run. */
  readonly pid: number | undefined
  /** With everything it started, guests included. */
  readonly memoryMib: number
}

const KIB_PER_MIB = 1024
const OVN_CENTRAL = ['ovsdb-server', 'ovn-northd']
const OVN_HOST = ['ovs-vswitchd', 'ovn-controller']
type PidOf = (directory: string) => Promise<number | undefined>

/** By driver, what a host's hypervisor is made of; without those daemons nothing can be done to its guests. */
const HYPERVISORS: Readonly<
  Partial<Record<DriverName, readonly [PidOf, daemons: readonly string[]]>>
> = {
  docker: [dockerEnginePid, ['dockerd', 'containerd']],
  libvirt: [libvirtHostPid, ['virtlogd', 'libvirtd']],
}

/** Every process the deployment should have, in the order they are started. */
export async function processStates(
  layout: Layout,
  state: DeploymentState,
): Promise<readonly ProcessState[]> {
  const own = state.host === undefined ? [] : [state.host]
  const hosts = [...state.cells.flatMap((cell) => cell.hosts), ...own].map(({ name }) => name)
  const programs = [
    ...state.gateways.map(({ name }) => name),
    ...state.cells.map(({ name }) => `cell-${name}`),
    ...hosts.map((name) => `compute-${name}`),
  ]
  const services = [
    describe('mariadb', runningMariadb(layout.mariadb)?.process.pid),
    describe('nats', runningNats(layout.nats)?.process.pid),
  ]
  return [
    ...(state.host === undefined ? services : []),
    ...(await networks(layout, state)),
    ...(await hypervisors(layout, state)),
    ...programs.map((name) => {
      const identity = state.processes[name]
      return describe(name, identity && isRunning(identity) ? identity.pid : undefined)
    }),
  ]
}

/** The databases of OVN, where the deployment has it. */
function networks(layout: Layout, state: DeploymentState): Promise<readonly ProcessState[]> {
  if (state.network !== 'ovn') return Promise.resolve([])
  return Promise.all(
    launchedCells(state).map(async ({ name }) => {
      return describe(`ovn-${name}`, await centralPid(layout, name), OVN_CENTRAL)
    }),
  )
}

function hypervisors(layout: Layout, state: DeploymentState): Promise<readonly ProcessState[]> {
  const driver = state.driver.name
  const [pidOf, own] = HYPERVISORS[driver] ?? []
  if (pidOf === undefined) return Promise.resolve([])
  const daemons = [...(own ?? []), ...(state.network === 'ovn' ? OVN_HOST : [])]
  return Promise.all(
    launchedHosts(state).map(async ({ name }) => {
      const pid = await pidOf(join(layout.hosts, name, driver))
      return describe(`${driver}-${name}`, pid, daemons)
    }),
  )
}

/** Alive when it runs, with every program it `needs` below it. */
function describe(
  name: string,
  pid: number | undefined,
  needs: readonly string[] = [],
): ProcessState {
  const tree = pid === undefined ? [] : processTree(pid)
  const names = new Set(tree.map((each) => each.name))
  const memoryKib = tree.reduce((sum, each) => sum + each.memoryKib, 0)
  return {
    name,
    isAlive: tree.length > 0 && needs.every((need) => names.has(need)),
    pid,
    memoryMib: Math.round(memoryKib / KIB_PER_MIB),
  }
}
