import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { UPLOAD_FORMATS } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import type { Compute } from '../compute.ts'
import { enforce } from '../policy.ts'
import type { RequestContext } from '../request-context.ts'
import { uploadVolumeSaga } from '../sagas/upload-volume.ts'
import { isReady } from '../sagas/volume-work.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import { refuseUnable } from './store-abilities.ts'
import type { Volume } from './volume.ts'
import { refuseUnreachable, showVolume } from './volumes.ts'

export interface UploadRequest {
  readonly imageName: string
  readonly diskFormat: string
  readonly containerFormat: string
  readonly visibility: NonNullable<SnapshotOrder['visibility']>
  readonly isProtected: boolean
  /** Also while a server uses the volume. */
  readonly mayBeInUse: boolean
}

/** What an image says of itself, which its copy says of itself as well (Cinder: `glance_core_properties`). */
const CORE: ReadonlySet<string> = new Set([
  'checksum',
  'container_format',
  'disk_format',
  'image_id',
  'image_name',
  'min_disk',
  'min_ram',
  'name',
  'size',
])

/**
 * Afterwards the volume is being uploaded to a new image. Returns the volume and the image's id. Throws `not-found`;
 * `invalid` for a format that is not made, in a status that forbids it and for a store that does not do it then; `forbidden` for a public image; `over-quota`;
 * `unavailable` while its cell is unreachable.
 */
export async function uploadVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  request: UploadRequest,
): Promise<{ readonly volume: Volume; readonly imageId: string }> {
  const volume = await showVolume(compute, context, id)
  const { mayBeInUse, visibility } = request
  refuseEncrypted(volume)
  if (visibility === 'public') enforce(context, 'volume_extension:volume_actions:upload_public')
  const diskFormat = UPLOAD_FORMATS.find((known) => known === request.diskFormat)
  if (diskFormat === undefined || request.containerFormat !== 'bare')
    throw new Failure(
      'invalid',
      `Invalid input received: A volume becomes an image with disk_format ${UPLOAD_FORMATS.join(' or ')} and container_format bare, not ${request.diskFormat} and ${request.containerFormat}.`,
    )
  if (!isReady(volume, mayBeInUse)) throw notUploadable(volume, mayBeInUse)
  if ((await attachmentsOfVolumes(compute.db, [volume.id])).length > 1)
    throw new Failure(
      'invalid',
      `Invalid volume: Volume ${volume.id} is used by several servers. Detach it from all but one to upload it.`,
    )
  refuseUnreachable(compute, volume)
  refuseUnable(compute, volume, 'upload')
  const order = orderOf(volume, { ...request, diskFormat })
  const params = {
    ...{ volumeId: volume.id, operationId: newId<string>(), order, diskFormat },
    ...(mayBeInUse && { mayBeInUse: true as const }),
  }
  try {
    await compute.sagas.start(uploadVolumeSaga, { subject: volume.id, params, work: context })
  } catch (error) {
    if (isFailure(error, 'conflict')) throw notUploadable(volume, mayBeInUse)
    throw error
  }
  return { volume: await showVolume(compute, context, id), imageId: order.imageId }
}

/** An image would show the content, or need a key that no image service keeps. */
function refuseEncrypted({ id, encryption }: Volume): void {
  if (encryption === null) return
  throw new Failure(
    'invalid',
    `Invalid volume: Volume ${id} is encrypted, and its key stays with it, so it cannot become an image. Make a snapshot of it, or create a volume of a type without encryption with it as its source, and upload that.`,
  )
}

function orderOf(
  { id, projectId, sizeGb, imageMetadata }: Volume,
  { imageName, diskFormat, visibility, isProtected }: UploadRequest,
): SnapshotOrder {
  const inherited = Object.entries(imageMetadata ?? {}).filter(([key]) => !CORE.has(key))
  return {
    imageId: newId<string>(),
    sourceId: id,
    purpose: 'volume',
    backupsKept: null,
    owner: projectId,
    name: imageName,
    // It shows a disk of this size.
    minDiskGb: sizeGb,
    minRamMb: Number(imageMetadata?.['min_ram'] ?? 0),
    properties: Object.fromEntries(inherited),
    ...{ diskFormat, visibility, isProtected },
  }
}

/** Cinder's sentence (cinder/volume/api.py, `copy_volume_to_image`). */
function notUploadable({ id, status }: Volume, mayBeInUse: boolean): Failure {
  const fit = mayBeInUse ? 'available or in-use' : 'available'
  return new Failure(
    'invalid',
    `Invalid volume: Volume ${id} status must be ${fit}, but current status is: ${status}.`,
  )
}
