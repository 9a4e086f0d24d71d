import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { IMAGE_SCHEMA } from '../../../views/image/schemas.ts'

/** GET /v2/schemas/image */
export const showImageSchema: Handler<operations['showImageSchema']> = async () => {
  return { body: IMAGE_SCHEMA }
}
