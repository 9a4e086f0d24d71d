import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { IronicHost } from './host.ts'

/** Reports to every listener that the instance runs, or is off, unless it was reported so last. */
export function reportPower(
  { lastReported, listeners }: IronicHost,
  id: InstanceId,
  powerState: PowerState,
): void {
  if (lastReported.get(id) === powerState) return
  lastReported.set(id, powerState)
  for (const listener of listeners) listener({ id, powerState })
}
