import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { VolumeSource } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import type { Volume } from './volume.ts'
import { showVolume } from './volumes.ts'

/** What a user wants a volume's content to be made from. */
export interface WantedSource {
  readonly kind: 'volume'
  readonly id: string
}

/** What is known of a source, and of a volume that is made from it. */
export interface FoundSource {
  readonly source: VolumeSource
  readonly cellId: CellId
  readonly zone: string | null
  readonly sizeGb: number
  /** The type that the volume has unless another one is named; null: none. */
  readonly type: { readonly id: string; readonly extraSpecs: Volume['specs'] } | null
  readonly storeName: string | null
  readonly isBootable: boolean
}

/**
 * The source that was asked for. Throws `not-found` for one that the requester may not see, `invalid` in a status that
 * forbids it, and `unavailable` while its cell is unreachable.
 */
export async function findSource(
  compute: Compute,
  context: RequestContext,
  { id }: WantedSource,
): Promise<FoundSource> {
  const volume = await showVolume(compute, context, id)
  const { cellId, typeId, status } = volume
  if (cellId === null || !SOURCES.has(status))
    throw new Failure(
      'invalid',
      `Invalid volume: Originating volume status must be one of 'available, in-use' values, but is '${status}'.`,
    )
  const cell = compute.cells.cell(cellId)
  if (cell?.isReachable === false)
    throw new Failure('unavailable', `Cell ${cell.name} cannot be reached. Try again later.`)
  const [attachment] = await attachmentsOfVolumes(compute.db, [volume.id])
  const user = attachment === undefined ? {} : { serverId: attachment.serverId }
  return {
    source: { kind: 'volume', volumeId: volume.id, attempt: volume.attempt, ...user },
    cellId,
    zone: volume.zone,
    sizeGb: volume.sizeGb,
    type: typeId === null ? null : { id: typeId, extraSpecs: volume.specs },
    storeName: volume.storeName,
    isBootable: volume.isBootable,
  }
}

const SOURCES: ReadonlySet<Volume['status']> = new Set(['available', 'in-use'])

/** Throws `invalid`, in the words of Cinder, for what a volume of this source cannot be. */
export function refuseUnlike(
  { sizeGb, zone, storeName, type }: FoundSource,
  asked: {
    readonly sizeGb: number
    readonly zone: string | null
    readonly type: FoundSource['type']
  },
): void {
  if (asked.sizeGb < sizeGb)
    throw new Failure(
      'invalid',
      `Invalid input received: Volume size '${asked.sizeGb}'GB cannot be smaller than original volume size  ${sizeGb}GB. They must be >= original volume size.`,
    )
  if (asked.zone !== null && asked.zone !== zone)
    throw new Failure(
      'invalid',
      'Invalid input received: Volume must be in the same availability zone as the source volume',
    )
  const backend = asked.type?.extraSpecs['volume_backend_name']
  if (asked.type?.id !== type?.id && backend !== undefined && backend !== storeName)
    throw new Failure(
      'invalid',
      `Invalid input received: Invalid volume_type ${asked.type?.id} provided: the requested type is not compatible; either match the source volume, or omit the type argument.`,
    )
}
