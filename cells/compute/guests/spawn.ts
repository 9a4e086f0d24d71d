import { Failure } from '#common/errors.ts'
import type { InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { InstanceBuild, MachineNic, OperationRef } from '#openapi/wire/instance.ts'
import type { VolumeKeys } from '#openapi/wire/volume.ts'
import { answerOf } from '../answer.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import { withKeys } from '../volumes/with-keys.ts'
import { instanceSpec } from './instance-spec.ts'
import { RANKS } from './instance-work-queue.ts'

interface SpawnAsk {
  readonly operation: OperationRef
  readonly build: InstanceBuild
  readonly keys?: VolumeKeys
}

/** Afterwards the instance runs here, or is here as it was if it is taken in, unless a newer attempt is known or this one has been destroyed. */
export async function spawn(
  compute: Compute,
  { operation, build, keys }: SpawnAsk,
): Promise<HostAnswer> {
  const { attempts, fence, log, workQueue, answerWithinMs } = compute
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    fence.assertOpen()
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(
      async () => {
        const { metadata } = compute
        const work = async () => {
          for (const volume of build.volumes ?? []) await metadata?.attachVolume(id, volume)
          return withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
            built(compute, id, build, signal),
          )
        }
        return metadata === undefined ? work() : metadata.during(id, operation.attempt, build, work)
      },
      signal,
      log.child({ server_id: id }),
    )
  }
  const job = { operation: operation.id as OperationId, subject: id, rank: RANKS.ordinary, run }
  // A build that was done, and whose guest was destroyed since, is not answered as done.
  const refusing = attempts.refusing(id, operation.attempt)
  if (refusing !== undefined) return { state: 'stale', attempt: refusing }
  return workQueue.ask(job, answerWithinMs)
}

/** Afterwards the guest is built, or taken in. */
async function built(
  { driver }: Compute,
  id: InstanceId,
  build: InstanceBuild,
  signal: AbortSignal,
): Promise<HostAnswer> {
  const spec = instanceSpec(id, build)
  if (build.adopts === true) {
    const powerState = await driverPart(driver, 'adopt').adopt(spec, signal)
    return { state: 'done', powerState: POWER_STATES[powerState] }
  }
  await driver.spawn(spec, signal)
  const nics = await machineNics(driver, spec, signal)
  return { state: 'done', powerState: POWER_STATES.running, ...nics }
}

/**
 * The NICs of the guest's machine; undefined where guests have virtual NICs. Throws only `unavailable`, because the
 * guest exists.
 */
async function machineNics(
  driver: Driver,
  { id, nics }: InstanceSpec,
  signal: AbortSignal,
): Promise<{ readonly machineNics?: MachineNic[] }> {
  if (driver.machineNics === undefined || nics.length === 0) return {}
  const found = await driver.machineNics.macAddresses(id, nics, signal).catch((cause: unknown) => {
    throw new Failure('unavailable', 'The host cannot read which NICs the guest has.', { cause })
  })
  return { machineNics: [...found].map(([portId, macAddress]) => ({ portId, macAddress })) }
}
