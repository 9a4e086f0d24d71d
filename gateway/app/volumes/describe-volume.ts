import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { NewVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import type { Images } from '../images/images.ts'
import type { RequestContext } from '../request-context.ts'
import { isShared, type WantedStores } from './choose-cell.ts'
import { defaultType } from './default-types.ts'
import { refuseLargeVolume } from './quotas.ts'
import { hintedStores, type StoreHints } from './store-hints.ts'
import { encryptionOf } from './type-encryption.ts'
import { typeNamed } from './types.ts'
import { findSource, refuseUnfitStore, refuseUnlike, type WantedSource } from './volume-source.ts'

/** The services that a new volume needs. */
export interface VolumeDeps {
  readonly compute: Compute
  /** Where the content of images is. */
  readonly images: Images
}

/** What a user asks for. */
export interface NewVolumeRequest
  extends Pick<NewVolume, 'name' | 'description' | 'metadata' | 'zone'> {
  /** Null: that of its source. */
  readonly sizeGb: number | null
  /** The id or the name of its type; null: that of its source, or the default of the project or of the cloud. */
  readonly type: string | null
  /** Null: it begins empty. */
  readonly source: WantedSource | null
  readonly hints?: StoreHints
}

/** All that is decided of a volume but for its cell; nothing is written. */
export interface DescribedVolume {
  readonly row: Omit<NewVolume, 'id' | 'cellId' | 'status' | 'fault' | 'sagaId'>
  /** The only cell that can make it; null: any. */
  readonly only: CellId | null
  /** Absent: it may be in any store. */
  readonly stores?: WantedStores
}

/**
 * Decides on a volume that a user asks for. Throws `over-quota` for a larger one than a volume may be, `invalid` for a zone that
 * no cell has, an image that cannot be read and for what its source does not allow, `not-found` for a type or a source.
 */
export async function describeVolume(
  deps: VolumeDeps,
  context: RequestContext & { readonly projectId: string },
  request: NewVolumeRequest,
): Promise<DescribedVolume> {
  const { projectId, userId } = context
  const { type: _type, source: _source, hints = {}, ...named } = request
  const { found, type, encryption, sizeGb, zone } = await settleRequest(deps, context, request)
  const specs = type?.extraSpecs ?? {}
  refuseSharedEncrypted(type?.id, specs, encryption)
  const like = found?.like ?? null
  if (like !== null) refuseUnfitStore(like, type?.id, { specs, encryption })
  await refuseLargeVolume(deps.compute.db, projectId, sizeGb)
  refuseUnknownZone(deps.compute, zone)
  const row = {
    ...named,
    projectId,
    userId,
    typeId: type?.id ?? null,
    specs,
    zone,
    sizeGb,
    isBootable: found?.isBootable ?? false,
    source: found?.source ?? null,
    imageMetadata: found?.imageMetadata ?? null,
    isMultiattach: isShared(specs),
    encryption,
  }
  const stores = await hintedStores(deps.compute, context, hints)
  return { row, only: found?.cellId ?? null, ...(stores && { stores }) }
}

/** What the request leaves to its source, and to defaults. */
async function settleRequest(
  deps: VolumeDeps,
  context: RequestContext,
  { type: named, sizeGb: asked, zone, source }: NewVolumeRequest,
) {
  const { db } = deps.compute
  const found = source === null ? null : await findSource(deps, context, source, asked)
  const like = found?.like ?? null
  const wanted = named === null ? undefined : await typeNamed(db, context, named)
  const chosen = wanted ?? (like === null ? await defaultType(db, context) : undefined)
  const type = chosen ?? like?.type ?? null
  const encryption = chosen === undefined ? (like?.encryption ?? null) : encryptionOf(chosen)
  const sizeGb = asked ?? like?.sizeGb
  if (sizeGb === undefined)
    throw new Failure(
      'invalid',
      "Invalid input received: Volume size 'None' must be an integer and greater than 0",
    )
  if (found !== null && like !== null) refuseUnlike(like, { sizeGb, zone, type }, found.source.kind)
  return { found, type, encryption, sizeGb, zone: zone ?? like?.zone ?? null }
}

/** A type can come to allow both by its extra specs. */
function refuseSharedEncrypted(
  typeId: string | undefined,
  specs: NewVolume['specs'],
  encryption: NewVolume['encryption'],
): void {
  if (encryption === null || !isShared(specs)) return
  throw new Failure(
    'invalid',
    `Invalid volume: Volumes of type ${typeId} are encrypted, so several servers cannot use one at once (multiattach). Ask an administrator for a type without one of both.`,
  )
}

function refuseUnknownZone({ cells }: Compute, zone: string | null): void {
  if (zone === null) return
  const zones = new Set(cells.cells().flatMap(({ summary }) => summary?.zones ?? []))
  if (!zones.has(zone)) throw new Failure('invalid', `Availability zone '${zone}' is invalid.`)
}
