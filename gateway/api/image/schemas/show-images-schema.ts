import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { IMAGES_SCHEMA } from '../../../views/image/schemas.ts'

/** GET /v2/schemas/images */
export const showImagesSchema: Handler<operations['showImagesSchema']> = async () => {
  return { body: IMAGES_SCHEMA }
}
