import { Failure } from '../errors.ts'
import type { Task, VmState } from './instance-states.ts'
import { SERVER_ACTIONS, type ServerActionName } from './server-actions.ts'

/** The state of a server, as a gateway or its cell knows it. */
export interface StatefulServer {
  readonly id: string
  readonly vmState: VmState
  readonly taskState: Task | null
  /** Null for a server that never ran. */
  readonly launchedAt: Date | number | null
}

/** Throws `conflict`, in Nova's words, when the server is in no state for the action. */
export function refuseInState(server: StatefulServer, action: ServerActionName): void {
  const { name, from, over = [], onlyOver = false, needsNoLaunch = false } = SERVER_ACTIONS[action]
  const { id, vmState, taskState, launchedAt } = server
  const refuse = (what: string, state: string | null) => {
    throw new Failure(
      'conflict',
      state === null
        ? `Instance ${id} is in an invalid state for '${name}'`
        : `Cannot '${name}' instance ${id} while it is in ${what} ${state}`,
    )
  }
  if (from !== 'any' && !from.includes(vmState)) refuse('vm_state', vmState)
  const isFree = taskState === null ? !onlyOver : over === 'any' || over.includes(taskState)
  if (!isFree) refuse('task_state', taskState)
  if (launchedAt === null && !needsNoLaunch) refuse('launched_at', null)
}
