import { join } from 'node:path'
import type { DriverName } from '#drivers/driver.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedCells, launchedHosts } from '../deployment/state.ts'
import { dockerEnginePid } from '../docker-engine/docker-engine.ts'
import { libvirtHostPid } from '../libvirt-host/libvirt-host.ts'
import { runningMariadb } from '../mariadb.ts'
import { runningHolder } from '../namespace/holder-file.ts'
import { runningNats } from '../nats.ts'
import { centralPid, switchFolder } from '../ovn/deployment-network.ts'
import { isRunning } from '../process/process-identity.ts'
import {
  type ListedProcess,
  listProcesses,
  memoryKibOf,
  processTree,
} from '../process/process-tree.ts'

export interface ProcessState {
  readonly name: string
  readonly isAlive: boolean
  /** Absent when it does not run. */
  readonly pid: number | undefined
  /** With everything it started, guests included; read when it is asked for, which takes long. */
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
  const { databases, bus } = state.elsewhere ?? {}
  const services = [
    ...(databases === undefined
      ? [expected('mariadb', runningMariadb(layout.mariadb)?.process.pid)]
      : []),
    ...(bus === undefined ? [expected('nats', runningNats(layout.nats)?.process.pid)] : []),
  ]
  const wanted = [
    ...(state.host === undefined ? services : []),
    ...(await networks(layout, state)),
    ...(await hypervisors(layout, state)),
    ...programs.map((name) => {
      const identity = state.processes[name]
      return expected(name, identity && isRunning(identity) ? identity.pid : undefined)
    }),
  ]
  // Listed last, so that it has all that started before, and only where it is needed: the supervisor looks every second.
  let all: readonly ListedProcess[] | undefined
  const treeOf = (pid: number | undefined) => {
    if (pid === undefined) return []
    all ??= listProcesses()
    return processTree(pid, all)
  }
  return wanted.map((each) => describe(each, treeOf))
}

/** A process, and the programs that it needs below it. */
interface Expected {
  readonly name: string
  readonly pid: number | undefined
  readonly needs: readonly string[]
}

function expected(name: string, pid: number | undefined, needs: readonly string[] = []): Expected {
  return { name, pid, needs }
}

/** The databases of OVN, where the deployment has it. */
function networks(layout: Layout, state: DeploymentState): Promise<readonly Expected[]> {
  if (state.network !== 'ovn') return Promise.resolve([])
  return Promise.all(
    launchedCells(state).map(async ({ name }) => {
      return expected(`ovn-${name}`, await centralPid(layout, name), OVN_CENTRAL)
    }),
  )
}

function hypervisors(layout: Layout, state: DeploymentState): Promise<readonly Expected[]> {
  const driver = state.driver.name
  if (driver === 'baremetal') return switches(layout, state)
  const [pidOf, own] = HYPERVISORS[driver] ?? []
  if (pidOf === undefined) return Promise.resolve([])
  const daemons = [...(own ?? []), ...(state.network === 'ovn' ? OVN_HOST : [])]
  return Promise.all(
    launchedHosts(state).map(async ({ name }) => {
      const pid = await pidOf(join(layout.hosts, name, driver))
      return expected(`${driver}-${name}`, pid, daemons)
    }),
  )
}

/** Those of hosts without a hypervisor, where OVN joins them. */
function switches(layout: Layout, state: DeploymentState): Promise<readonly Expected[]> {
  const hosts = state.network === 'ovn' ? launchedHosts(state) : []
  return Promise.all(
    hosts.map(async ({ name }) => {
      const holder = await runningHolder(switchFolder(layout, name))
      return expected(`switch-${name}`, holder?.pid, OVN_HOST)
    }),
  )
}

/** Alive when it runs, with every program it needs below it. */
function describe(
  { name, pid, needs }: Expected,
  treeOf: (pid: number | undefined) => readonly ListedProcess[],
): ProcessState {
  const names = needs.length === 0 ? [] : treeOf(pid).map((each) => each.name)
  return {
    name,
    isAlive: pid !== undefined && needs.every((need) => names.includes(need)),
    pid,
    get memoryMib() {
      const kib = treeOf(pid).reduce((sum, each) => sum + memoryKibOf(each), 0)
      return Math.round(kib / KIB_PER_MIB)
    },
  }
}
