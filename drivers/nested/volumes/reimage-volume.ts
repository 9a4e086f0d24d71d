import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeImage, VolumeRef } from '../../volumes.ts'
import type { NestedHost } from '../host.ts'
import { actOnVolume, getVolume, workFailure } from './cloud-volume.ts'
import { withLabels } from './create-volume.ts'

/** Volumes get the content of an image again since then. */
const REIMAGE_SINCE = '3.68'

/** Afterwards the volume, which no server has, has the content of the image. A failure may leave it in error, and a repeat makes it whole. */
export async function reimageVolume(
  host: NestedHost,
  ref: VolumeRef,
  image: VolumeImage,
  signal: AbortSignal,
): Promise<void> {
  const volume = await getVolume(host, ref, signal)
  if (volume.attachments.length > 0)
    throw new Failure('conflict', `A server of the nested cloud has volume ${ref.id}.`)
  const image_id = await host.images.ensure(withLabels(image), signal)
  const body = { 'os-reimage': { image_id } }
  const asked = { microversion: REIMAGE_SINCE, signal }
  const after = await actOnVolume(host, volume, body, asked).catch((error: unknown) => {
    if (!isFailure(error, 'unsupported', 'invalid')) throw error
    const { kind, detail } = error
    throw new Failure(kind, 'The nested cloud does not give the volume the content of the image.', {
      cause: error,
      ...(detail !== undefined && { detail }),
    })
  })
  if (after.status !== 'available')
    throw await workFailure(host, 're-image the volume', after, signal)
}
