import type { Static } from 'typebox'
import type { ImageId, OperationId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeRef, VolumeSpec, Volumes } from '#drivers/volumes.ts'
import type { HOST_OPERATIONS, HostAnswer } from '#openapi/wire/host.ts'
import type { VolumeOperationRef, VolumeSource } from '#openapi/wire/volume.ts'
import { answerOf } from '../answer.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import { RANKS, type Rank } from '../guests/instance-work-queue.ts'
import { carryOf } from './volume-copies.ts'
import { withKeys } from './with-keys.ts'

type Ask<O extends keyof typeof HOST_OPERATIONS> = Static<(typeof HOST_OPERATIONS)[O]['ask']>

/** Afterwards the volume is in its store, whole. */
export function createVolume(
  compute: Compute,
  { operation, bytes, from, encryption, keys }: Ask<'volume-create'>,
): Promise<HostAnswer> {
  const how = { ...(from && { from: sourceOf(from) }), ...(encryption && { encryption }) }
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      volumes.create({ ...ref, bytes, ...how }, signal),
    ),
  )
}

/** Afterwards nothing of the volume is left, also of one that is being made. */
export function destroyVolume(
  compute: Compute,
  { operation }: Ask<'volume-destroy'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.last, (volumes, ref, signal) =>
    volumes.destroy(ref, signal),
  )
}

/** Afterwards the volume has at least that size, also for the guests of this host that have it. */
export function extendVolume(
  compute: Compute,
  { operation, bytes }: Ask<'volume-extend'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    volumes.extend(ref, bytes, signal),
  )
}

/** Afterwards the snapshot holds the volume's content of one moment. */
export function snapshotVolume(
  compute: Compute,
  { operation, snapshotId, keys }: Ask<'volume-snapshot'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      volumes.snapshot(ref, snapshotId as VolumeSnapshotId, signal),
    ),
  )
}

/** Afterwards the image has the volume's content of one moment. */
export function exportVolume(
  compute: Compute,
  { operation, target, diskFormat, isSealed }: Ask<'volume-export'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, async (volumes, ref, signal) => {
    await using disk = await volumes.export(ref, diskFormat, signal, { isSealed })
    await compute.images.fill(target, disk, signal)
  })
}

/** Afterwards the host has a copy of the volume. */
export function packVolume(
  compute: Compute,
  { operation, copy, encryption, keys }: Ask<'volume-pack'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, (_, ref, signal) =>
    withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      carryOf(compute).pack(ref, copy, signal, { sealAs: encryption }),
    ),
  )
}

/** Afterwards the volume has the content of its snapshot. */
export function revertVolume(
  compute: Compute,
  { operation, snapshotId }: Ask<'volume-revert'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    volumes.revert(ref, snapshotId as VolumeSnapshotId, signal),
  )
}

/** Afterwards the volume has the content of the image. */
export function reimageVolume(
  compute: Compute,
  { operation, from, keys }: Ask<'volume-reimage'>,
): Promise<HostAnswer> {
  const image = { ...from.image, id: from.image.id as ImageId }
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    withKeys(compute.driver, { keys, holder: operation.id }, signal, () =>
      volumes.reimage(ref, image, signal),
    ),
  )
}

/** Afterwards the snapshot is gone. */
export function destroyVolumeSnapshot(
  compute: Compute,
  { operation, snapshotId }: Ask<'volume-destroy-snapshot'>,
): Promise<HostAnswer> {
  return workOn(compute, operation, RANKS.ordinary, (volumes, ref, signal) =>
    volumes.destroySnapshot(ref, snapshotId as VolumeSnapshotId, signal),
  )
}

type Work = (volumes: Volumes, volume: VolumeRef, signal: AbortSignal) => Promise<void>

/** An operation that was done is not done again, so that one that comes late does not undo what came after it. */
function workOn(
  { driver, log, workQueue, answerWithinMs }: Compute,
  { id, store, volumeId }: VolumeOperationRef,
  rank: Rank,
  work: Work,
): Promise<HostAnswer> {
  const volume = { store, id: volumeId as VolumeId }
  const run = (signal: AbortSignal) =>
    answerOf(
      async (): Promise<HostAnswer> => {
        await work(driverPart(driver, 'volumes'), volume, signal)
        return { state: 'done' }
      },
      signal,
      log.child({ volume_id: volumeId }),
    )
  const job = { operation: id as OperationId, subject: volume.id, rank, run }
  return workQueue.ask(job, answerWithinMs)
}

function sourceOf(from: VolumeSource): NonNullable<VolumeSpec['from']> {
  if ('image' in from) return { image: { ...from.image, id: from.image.id as ImageId } }
  if ('copy' in from) return from
  if ('sealedCopy' in from) {
    const { encryption, ...copy } = from.sealedCopy
    return { copy, sealedAs: encryption }
  }
  if ('sealedImage' in from)
    return { sealedImage: { ...from.sealedImage, id: from.sealedImage.id as ImageId } }
  const volume = from.volumeId as VolumeId
  const { snapshotId } = from
  return snapshotId === undefined
    ? { volume }
    : { volume, snapshot: snapshotId as VolumeSnapshotId }
}
