import { Failure } from '#common/errors.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { PowerAction } from '#openapi/wire/host.ts'
import type { ServerRecord } from './server-record.ts'

interface Rule {
  /** As the user calls it, in messages and in `server event list`. */
  readonly name: string
  readonly from: readonly VmState[]
  /** Besides none. */
  readonly during: readonly Task[]
}

const REBOOTABLE: readonly VmState[] = ['active', 'stopped', 'paused', 'suspended', 'error']

/** In which states Nova lets a server's power be changed (nova/compute/api.py, `check_instance_state`). */
const RULES: Readonly<Record<PowerAction, Rule>> = {
  start: { name: 'start', from: ['stopped'], during: [] },
  stop: { name: 'stop', from: ['active', 'error'], during: [] },
  'reboot-soft': { name: 'reboot', from: ['active'], during: [] },
  'reboot-hard': {
    name: 'reboot',
    from: REBOOTABLE,
    during: ['rebooting', 'rebooting_hard', 'pausing', 'unpausing'],
  },
  pause: { name: 'pause', from: ['active'], during: [] },
  unpause: { name: 'unpause', from: ['paused'], during: [] },
}

export function actionName(action: PowerAction): string {
  return RULES[action].name
}

/** Throws `conflict`, in Nova's words, when the server as last known is in no state for the action. */
export function refuseInState(server: ServerRecord, action: PowerAction): void {
  const { name, from, during } = RULES[action]
  const { id, vmState, taskState } = server
  const refuse = (what: string, state: string) => {
    throw new Failure('conflict', `Cannot '${name}' instance ${id} while it is in ${what} ${state}`)
  }
  if (!from.includes(vmState)) refuse('vm_state', vmState)
  if (taskState !== null && !during.includes(taskState)) refuse('task_state', taskState)
}
