import { Failure } from '#common/errors.ts'
import type { ImageId, InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import type { Capability, Driver } from '#drivers/driver.ts'
import type { Act, ActName } from '#openapi/wire/act.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { answerOf } from './answer.ts'
import type { Compute } from './compute.ts'
import { configDriveFiles } from './config-drive.ts'

interface ActAsk {
  readonly operation: OperationRef
  readonly act: Act
  readonly graceMs: number
}

/** Absent: as it was. */
const AFTERWARDS: Readonly<Partial<Record<ActName, PowerState>>> = {
  start: 'running',
  stop: 'shutdown',
  'reboot-soft': 'running',
  'reboot-hard': 'running',
  pause: 'paused',
  unpause: 'running',
  suspend: 'shutdown',
  resume: 'running',
  rescue: 'running',
  unrescue: 'running',
}

/** Afterwards it has been done to the guest. */
export function act(compute: Compute, ask: ActAsk): Promise<HostAnswer> {
  const { attempts, driver, log, workbench, answerWithinMs } = compute
  const { operation } = ask
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(
      async () => {
        await perform(driver, id, ask, signal)
        const after = AFTERWARDS[ask.act.name]
        return after === undefined
          ? { state: 'done' }
          : { state: 'done', powerState: POWER_STATES[after] }
      },
      signal,
      log,
    )
  }
  const job = { operation: operation.id as OperationId, instance: id, preempts: false, run }
  return workbench.ask(job, answerWithinMs)
}

function perform(
  driver: Driver,
  id: InstanceId,
  { act: asked, graceMs }: ActAsk,
  signal: AbortSignal,
): Promise<void> {
  switch (asked.name) {
    case 'start':
      return driver.start(id, signal)
    case 'stop':
      return driver.stop(id, graceMs, signal)
    case 'reboot-soft':
      return driver.reboot(id, 'soft', graceMs, signal)
    case 'reboot-hard':
      return driver.reboot(id, 'hard', graceMs, signal)
    case 'pause':
      return part(driver, 'pause').pause(id, signal)
    case 'unpause':
      return part(driver, 'pause').unpause(id, signal)
    case 'suspend':
      return part(driver, 'suspend').suspend(id, signal)
    case 'resume':
      return part(driver, 'suspend').resume(id, signal)
    case 'rescue': {
      const image = { ...asked.build.image, id: asked.build.image.id as ImageId }
      const configDrive = configDriveFiles(id, asked.build)
      return part(driver, 'rescue').rescue(id, { image, configDrive }, signal)
    }
    case 'unrescue':
      return part(driver, 'rescue').unrescue(id, signal)
    case 'change-password':
      return part(driver, 'password').set(id, asked.password, signal)
    case 'crash-dump':
      return part(driver, 'crashDump').trigger(id, signal)
  }
}

function part<C extends Capability>(driver: Driver, capability: C): NonNullable<Driver[C]> {
  const found = driver[capability]
  if (found === undefined)
    throw new Failure(
      'unsupported',
      `Driver '${driver.name}' lacks what this needs: ${capability}.`,
    )
  return found as NonNullable<Driver[C]>
}
