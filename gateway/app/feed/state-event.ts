import { POWER_STATES } from '#common/states/instance-states.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { NewEvent } from '../../db/event-inbox.ts'

const POWER_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(POWER_STATES).map(([name, number]) => [number, name]),
)

/** That a server is now as its cell says. */
export function stateEvent(view: InstanceView): NewEvent {
  const { serverId, vmState: state, taskState, powerState, host, fault } = view
  const power = POWER_NAMES.get(powerState) ?? 'nostate'
  const message = fault?.message ?? null
  return {
    type: 'server.state',
    serverId,
    details: { state, taskState, powerState: power, host, message },
  }
}
