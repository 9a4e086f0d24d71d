import { Failure } from '#common/errors.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { PowerAction } from '#openapi/wire/host.ts'
import type { Instance } from './instance.ts'

interface PowerTransition {
  /** Nova's name of the action, as its refusals give it. */
  readonly verb: string
  readonly from: readonly VmState[]
  readonly during: Task
  readonly to: VmState
}

/** What each action needs and leads to (nova/compute/api.py: `check_instance_state`). */
export const POWER_TRANSITIONS: Readonly<Record<PowerAction, PowerTransition>> = {
  start: { verb: 'start', from: ['stopped'], during: 'powering-on', to: 'active' },
  stop: { verb: 'stop', from: ['active', 'error'], during: 'powering-off', to: 'stopped' },
  'reboot-soft': { verb: 'reboot', from: ['active'], during: 'rebooting', to: 'active' },
  'reboot-hard': {
    verb: 'reboot',
    from: ['active', 'stopped', 'paused', 'suspended', 'error'],
    during: 'rebooting_hard',
    to: 'active',
  },
  pause: { verb: 'pause', from: ['active'], during: 'pausing', to: 'paused' },
  unpause: { verb: 'unpause', from: ['paused'], during: 'unpausing', to: 'active' },
}

/** Throws `conflict`, in Nova's words, unless the action may begin now. */
export function assertMayPower(instance: Instance, action: PowerAction): void {
  const { verb, from } = POWER_TRANSITIONS[action]
  const { id, vmState, taskState, sagaId } = instance
  const refuse = (attribute: string, state: string): never => {
    throw new Failure(
      'conflict',
      `Cannot '${verb}' instance ${id} while it is in ${attribute} ${state}`,
    )
  }
  if (!from.includes(vmState)) refuse('vm_state', vmState)
  if (taskState !== null) refuse('task_state', taskState)
  if (sagaId !== null) throw new Failure('conflict', `Instance ${id} is being changed.`)
}
