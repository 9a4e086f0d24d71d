import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import type { NewVolume } from '../../db/volumes.ts'
import { findVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { showSnapshot } from '../volume-snapshots/snapshots.ts'
import { isShared } from './choose-cell.ts'
import type { VolumeDeps } from './describe-volume.ts'
import { imageSource } from './image-source.ts'
import { refuseUnable, storeOf } from './store-abilities.ts'
import type { StoredSource, Volume } from './volume.ts'
import { refuseUnreachable, showVolume } from './volumes.ts'

/** What a user wants a volume's content to be made from. */
export interface WantedSource {
  /** An image's `id` may be an address that ends with its id, as Cinder allows. */
  readonly kind: 'volume' | 'snapshot' | 'image'
  readonly id: string
}

/** What is known of a source, and of a volume that is made from it. */
export interface FoundSource {
  readonly source: StoredSource
  /** The only cell that has it; null: any can read it. */
  readonly cellId: CellId | null
  /** What the volume has unless the request says otherwise; null: that does not depend on the source. */
  readonly like: LikeSource | null
  readonly isBootable: boolean
  readonly imageMetadata: Volume['imageMetadata']
}

/** The properties that a volume shares with its source. */
export interface LikeSource {
  readonly zone: string | null
  readonly sizeGb: number
  /** Null: none. */
  readonly type: { readonly id: string; readonly extraSpecs: Volume['specs'] } | null
  readonly storeName: string | null
  /** Null: it is not encrypted. */
  readonly encryption: Volume['encryption']
  /** Undefined while its cell says nothing of it. */
  readonly store: StoreSummary | undefined
}

/**
 * The source that was asked for, of a volume of `sizeGb`, where the request says that. Throws `not-found` for a volume
 * or snapshot that the requester may not see, `invalid` for such an image and in a status that forbids it, and `unavailable` while its
 * cell is unreachable.
 */
export function findSource(
  { compute, images }: VolumeDeps,
  context: RequestContext,
  { kind, id }: WantedSource,
  sizeGb: number | null,
): Promise<FoundSource> {
  switch (kind) {
    case 'image':
      return imageSource(images, context, id, sizeGb)
    case 'snapshot':
      return snapshotSource(compute, context, id)
    case 'volume':
      return volumeSource(compute, context, id)
  }
}

async function snapshotSource(
  compute: Compute,
  context: RequestContext,
  id: string,
): Promise<FoundSource> {
  const snapshot = await showSnapshot(compute, context, id)
  const { volumeId, cellId, status, sizeGb } = snapshot
  const volume = await findVolume(compute.db, volumeId)
  if (cellId === null || volume === undefined || status !== 'available')
    throw new Failure(
      'invalid',
      `Invalid snapshot: Originating snapshot status must be one of 'available' values, but is '${status}'.`,
    )
  refuseUnreachable(compute, { cellId })
  const { typeId, zone, storeName, isBootable, imageMetadata, encryption } = volume
  const store = storeOf(compute, volume)
  const type = typeId === null ? null : { id: typeId, extraSpecs: volume.specs }
  return {
    source: { kind: 'snapshot', snapshotId: snapshot.id, volumeId },
    cellId,
    like: { zone, sizeGb, type, storeName, encryption, store },
    isBootable,
    imageMetadata,
  }
}

async function volumeSource(
  compute: Compute,
  context: RequestContext,
  id: string,
): Promise<FoundSource> {
  const volume = await showVolume(compute, context, id)
  const { cellId, typeId, status, zone, sizeGb, storeName, encryption } = volume
  if (cellId === null || !SOURCES.has(status))
    throw new Failure(
      'invalid',
      `Invalid volume: Originating volume status must be one of 'available, in-use' values, but is '${status}'.`,
    )
  refuseUnreachable(compute, { cellId })
  refuseUnable(compute, volume, 'copy')
  const store = storeOf(compute, volume)
  const [attachment] = await attachmentsOfVolumes(compute.db, [volume.id])
  const user = attachment === undefined ? {} : { serverId: attachment.serverId }
  const type = typeId === null ? null : { id: typeId, extraSpecs: volume.specs }
  return {
    source: { kind: 'volume', volumeId: volume.id, attempt: volume.attempt, ...user },
    cellId,
    like: { zone, sizeGb, type, storeName, encryption, store },
    isBootable: volume.isBootable,
    imageMetadata: volume.imageMetadata,
  }
}

const SOURCES: ReadonlySet<Volume['status']> = new Set(['available', 'in-use'])

/** Throws `invalid`, in the words of Cinder, for what a volume of this source cannot be. */
export function refuseUnlike(
  { sizeGb, zone, storeName, type }: LikeSource,
  asked: Pick<LikeSource, 'sizeGb' | 'zone' | 'type'>,
  kind: StoredSource['kind'],
): void {
  if (asked.sizeGb < sizeGb) {
    const least =
      kind === 'snapshot'
        ? `the snapshot size ${sizeGb}GB. They must be <= original snapshot size.`
        : `original volume size  ${sizeGb}GB. They must be >= original volume size.`
    throw new Failure(
      'invalid',
      `Invalid input received: Volume size '${asked.sizeGb}'GB cannot be smaller than ${least}`,
    )
  }
  if (asked.zone !== null && asked.zone !== zone)
    throw new Failure(
      'invalid',
      `Invalid input received: Volume must be in the same availability zone as the ${kind === 'snapshot' ? 'snapshot' : 'source volume'}`,
    )
  const backend = asked.type?.extraSpecs['volume_backend_name']
  if (asked.type?.id !== type?.id && backend !== undefined && backend !== storeName)
    throw new Failure(
      'invalid',
      `Invalid input received: Invalid volume_type ${asked.type?.id} provided: the requested type is not compatible; either match the source volume, or omit the type argument.`,
    )
}

/** Throws `invalid` for what volumes in the store of a source cannot be: what is made from it is made there. */
export function refuseUnfitStore(
  { store }: LikeSource,
  typeId: string | undefined,
  { specs, encryption }: Pick<NewVolume, 'specs' | 'encryption'>,
): void {
  if (store === undefined) return
  const cannot =
    isShared(specs) && !store.multiattach
      ? 'whose volumes one server uses at a time, and volumes of the type may have several'
      : encryption !== null && store.encrypts !== true
        ? 'which encrypts no volumes, and those of the type are encrypted'
        : undefined
  if (cannot === undefined) return
  throw new Failure(
    'invalid',
    `Invalid input received: Invalid volume_type ${typeId} provided: a copy is made in the store of its source, ${cannot}. Name another type, or create an empty volume of this one.`,
  )
}
