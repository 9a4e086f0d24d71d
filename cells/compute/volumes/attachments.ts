import type { Static } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, InstanceId, OperationId, VolumeId } from '#common/ids.ts'
import type { AttachmentSpec } from '#drivers/volumes.ts'
import type { HOST_OPERATIONS, HostAnswer } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { WireAttachment } from '#openapi/wire/volume.ts'
import { answerOf } from '../answer.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import { RANKS } from '../guests/instance-work-queue.ts'
import { withKeys } from './with-keys.ts'

type Ask<O extends keyof typeof HOST_OPERATIONS> = Static<(typeof HOST_OPERATIONS)[O]['ask']>

/** Afterwards the guest has the volume; the answer says under which name. */
export function attachVolume(
  compute: Compute,
  { operation, attachment, keys }: Ask<'volume-attach'>,
): Promise<HostAnswer> {
  return workOnGuest(compute, operation, async (id, signal) => {
    const spec = specOf(attachment)
    const device = await withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      driverPart(compute.driver, 'volumes').attach(id, spec, signal),
    )
    await compute.metadata?.attachVolume(id, attachment)
    return { state: 'done', device }
  })
}

/** Afterwards the guest does not have the volume. */
export function detachVolume(
  compute: Compute,
  { operation, attachmentId }: Ask<'volume-detach'>,
): Promise<HostAnswer> {
  return workOnGuest(compute, operation, async (id, signal) => {
    const volumes = driverPart(compute.driver, 'volumes')
    await volumes.detach(id, attachmentId as AttachmentId, signal)
    await compute.metadata?.detachVolume(id, attachmentId)
    return { state: 'done' }
  })
}

/** Afterwards the step of the guest's change to another volume is done. */
export function swapVolume(
  compute: Compute,
  { operation, step, to, keys }: Ask<'volume-swap'>,
): Promise<HostAnswer> {
  return workOnGuest(compute, operation, async (id, signal) => {
    const { swap } = driverPart(compute.driver, 'volumes')
    if (swap === undefined)
      throw new Failure(
        'unsupported',
        `Driver '${compute.driver.name}' does not change a volume of a server for another: detach the one and attach the other.`,
      )
    await withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      swap[step](id, specOf(to), signal),
    )
    if (step === 'pivot') await compute.metadata?.attachVolume(id, to)
    return { state: 'done' }
  })
}

function specOf({ id, volumeId, ...how }: WireAttachment): AttachmentSpec {
  return { ...how, attachmentId: id as AttachmentId, id: volumeId as VolumeId }
}

/** In turn with all other work on the guest, unless a newer attempt of it is known. */
async function workOnGuest(
  { attempts, fence, log, workQueue, answerWithinMs }: Compute,
  operation: OperationRef,
  work: (id: InstanceId, signal: AbortSignal) => Promise<HostAnswer>,
): Promise<HostAnswer> {
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    fence.assertOpen()
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(() => work(id, signal), signal, log.child({ server_id: id }))
  }
  // What was done to a guest that was destroyed since is not answered as done.
  const refusing = attempts.refusing(id, operation.attempt)
  if (refusing !== undefined) return { state: 'stale', attempt: refusing }
  const job = { operation: operation.id as OperationId, subject: id, rank: RANKS.ordinary, run }
  return workQueue.ask(job, answerWithinMs)
}
