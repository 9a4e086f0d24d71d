import type { operations } from '#openapi/image.gen.ts'
import { startImport } from '../../../app/images/import/start-import.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v2/images/{image_id}/import */
export const importImage: Handler<operations['importImage']> = async (call) => {
  const { app, context, params, body } = call
  await startImport(app.images, context, params.image_id, body)
  return {}
}
