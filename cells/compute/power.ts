import { Failure } from '#common/errors.ts'
import type { InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import type { Driver, Pause } from '#drivers/driver.ts'
import type { HostAnswer, PowerAction } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { answerOf } from './answer.ts'
import type { Compute } from './compute.ts'

interface PowerAsk {
  readonly operation: OperationRef
  readonly action: PowerAction
  readonly graceMs: number
}

const AFTERWARDS: Readonly<Record<PowerAction, PowerState>> = {
  start: 'running',
  stop: 'shutdown',
  'reboot-soft': 'running',
  'reboot-hard': 'running',
  pause: 'paused',
  unpause: 'running',
}

/** Afterwards the guest is in the power state the action leads to. */
export function power(compute: Compute, ask: PowerAsk): Promise<HostAnswer> {
  const { attempts, driver, log, workbench, answerWithinMs } = compute
  const { operation, action } = ask
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(
      async () => {
        await act(driver, id, ask, signal)
        return { state: 'done', powerState: POWER_STATES[AFTERWARDS[action]] }
      },
      signal,
      log,
    )
  }
  const job = { operation: operation.id as OperationId, instance: id, preempts: false, run }
  return workbench.ask(job, answerWithinMs)
}

function act(
  driver: Driver,
  id: InstanceId,
  { action, graceMs }: PowerAsk,
  signal: AbortSignal,
): Promise<void> {
  switch (action) {
    case 'start':
      return driver.start(id, signal)
    case 'stop':
      return driver.stop(id, graceMs, signal)
    case 'reboot-soft':
      return driver.reboot(id, 'soft', graceMs, signal)
    case 'reboot-hard':
      return driver.reboot(id, 'hard', graceMs, signal)
    case 'pause':
      return pausing(driver).pause(id, signal)
    case 'unpause':
      return pausing(driver).unpause(id, signal)
  }
}

function pausing(driver: Driver): Pause {
  if (driver.pause === undefined)
    throw new Failure('unsupported', `Servers on driver '${driver.name}' cannot be paused.`)
  return driver.pause
}
