import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import type { Compute } from '../compute.ts'
import type { Images } from '../images/images.ts'
import { visibleImage } from '../images/visible-image.ts'
import type { RequestContext } from '../request-context.ts'
import { reimageVolumeSaga } from '../sagas/reimage-volume.ts'
import { isReady } from '../sagas/volume-work.ts'
import { imageSource } from './image-source.ts'
import type { Volume } from './volume.ts'
import { refuseUnreachable, showVolume } from './volumes.ts'

/**
 * Afterwards the volume is being given the content of the image, and keeps its size, its id and its snapshots. Throws
 * `not-found`, also for the image; `invalid`, in Cinder's words, unless the volume is free, and for an image that it cannot have; `conflict` for one
 * that several servers have; `unavailable` while its cell is unreachable.
 */
export async function reimageVolume(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  id: string,
  imageId: string,
): Promise<void> {
  const volume = await showVolume(compute, context, id)
  if ((await attachmentsOfVolumes(compute.db, [volume.id])).length > 1)
    throw new Failure(
      'conflict',
      'Cannot re-image a volume which is attached to more than one server.',
    )
  if (!isReady(volume, false)) throw notFree(volume)
  // One that is made from an image says `invalid` of one that there is not.
  await visibleImage(images, context, imageId)
  const { source, imageMetadata } = await imageSource(images, context, imageId, volume.sizeGb)
  if (source?.kind !== 'image') throw new Error('An image is no image.')
  refuseUnreachable(compute, volume)
  const params = {
    ...{ volumeId: volume.id, operationId: newId<string>(), image: source.image },
    imageMetadata: imageMetadata ?? {},
  }
  try {
    await compute.sagas.start(reimageVolumeSaga, { subject: volume.id, params, work: context })
  } catch (error) {
    if (isFailure(error, 'conflict')) throw notFree(await showVolume(compute, context, id))
    throw error
  }
}

/** Cinder's sentence (cinder/volume/api.py), without the status in which a volume has no content, and is in no store, here. */
function notFree({ id, status }: Volume): Failure {
  return new Failure(
    'invalid',
    `Invalid volume: Volume ${id} status must be available, but current status is ${status}.`,
  )
}
