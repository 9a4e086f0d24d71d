import type { operations } from '#openapi/volume.gen.ts'
import { imageMetadataWith, imageMetadataWithout } from '../../app/volumes/volume-image-metadata.ts'
import { changeVolume, showVolume } from '../../app/volumes/volumes.ts'
import type { Handler } from '../../http/operation.ts'

const set: Handler<operations['setVolumeImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const { metadata } = body['os-set_image_metadata']
  const { imageMetadata } = await changeVolume(app.compute, context, params.volume_id, (volume) => {
    return { imageMetadata: imageMetadataWith(volume, metadata) }
  })
  return { body: { metadata: imageMetadata ?? {} } }
}

const show: Handler<operations['showVolumeImageMetadata']> = async ({ app, context, params }) => {
  const { imageMetadata } = await showVolume(app.compute, context, params.volume_id)
  return { body: { metadata: imageMetadata ?? {} } }
}

const unset: Handler<operations['unsetVolumeImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const { key } = body['os-unset_image_metadata']
  await changeVolume(app.compute, context, params.volume_id, (volume) => {
    return { imageMetadata: imageMetadataWithout(volume, key) }
  })
  return {}
}

/** What a volume knows of an image. */
export const volumeImageMetadataHandlers = {
  setVolumeImageMetadata: set,
  showVolumeImageMetadata: show,
  unsetVolumeImageMetadata: unset,
}
