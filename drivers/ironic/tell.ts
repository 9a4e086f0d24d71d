import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { IronicHost } from './host.ts'

/** Afterwards whoever watches knows that the instance runs, or is off. */
export function tell(
  { told, listeners }: IronicHost,
  id: InstanceId,
  powerState: PowerState,
): void {
  if (told.get(id) === powerState) return
  told.set(id, powerState)
  for (const listener of listeners) listener({ id, powerState })
}
