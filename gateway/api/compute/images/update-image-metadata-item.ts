import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { setImageMetadata } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateImageMetadataItem: Handler<operations['updateImageMetadataItem']> = async (
  call,
) => {
  const { app, context, params, body } = call
  const { meta } = body
  if (!Object.hasOwn(meta, params.key))
    throw new Failure('invalid', 'Request body and URI mismatch: meta must hold the key of the URI')
  await setImageMetadata(app.images, context, params.image_id, { items: meta, keep: true })
  return { body: { meta } }
}
