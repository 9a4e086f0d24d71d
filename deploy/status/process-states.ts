import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { runningMariadb } from '../mariadb.ts'
import { runningNats } from '../nats.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'

export interface ProcessState {
  readonly name: string
  readonly isAlive: boolean
  /** Absent when it was never started. */
  readonly pid: number | undefined
}

/** Every process the deployment should have, in the order they are started. */
export function processStates(layout: Layout, state: DeploymentState): readonly ProcessState[] {
  const mariadb = runningMariadb(layout.mariadb)?.process
  const nats = runningNats(layout.nats)?.process
  const programs = [
    ...state.gateways.map(({ name }) => name),
    ...state.cells.map(({ name }) => `cell-${name}`),
    ...state.cells.flatMap(({ hosts }) => hosts.map(({ name }) => `compute-${name}`)),
  ]
  return [
    describe('mariadb', mariadb),
    describe('nats', nats),
    ...programs.map((name) => describe(name, state.processes[name])),
  ]
}

function describe(name: string, identity: ProcessIdentity | undefined): ProcessState {
  return { name, isAlive: identity !== undefined && isRunning(identity), pid: identity?.pid }
}
