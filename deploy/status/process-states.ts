import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { libvirtHostPid } from '../libvirt-host/libvirt-host.ts'
import { runningMariadb } from '../mariadb.ts'
import { runningNats } from '../nats.ts'
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
/** What a libvirt host is made of; guests go on without them, but nothing can be done to them. */
const HOST_DAEMONS = ['virtlogd', 'libvirtd']

/** Every process the deployment should have, in the order they are started. */
export async function processStates(
  layout: Layout,
  state: DeploymentState,
): Promise<readonly ProcessState[]> {
  const hosts = state.cells.flatMap((cell) => cell.hosts.map(({ name }) => name))
  const programs = [
    ...state.gateways.map(({ name }) => name),
    ...state.cells.map(({ name }) => `cell-${name}`),
    ...hosts.map((name) => `compute-${name}`),
  ]
  const hypervisors = state.driver.name === 'libvirt' ? hosts : []
  return [
    describe('mariadb', runningMariadb(layout.mariadb)?.process.pid),
    describe('nats', runningNats(layout.nats)?.process.pid),
    ...(await Promise.all(hypervisors.map((name) => describeHost(layout, name)))),
    ...programs.map((name) => {
      const identity = state.processes[name]
      return describe(name, identity && isRunning(identity) ? identity.pid : undefined)
    }),
  ]
}

async function describeHost(layout: Layout, host: string): Promise<ProcessState> {
  const pid = await libvirtHostPid(join(layout.hosts, host, 'libvirt'))
  return describe(`libvirt-${host}`, pid, HOST_DAEMONS)
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
