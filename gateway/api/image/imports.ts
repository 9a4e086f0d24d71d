import type { operations } from '#openapi/image.gen.ts'
import { startImport } from '../../app/images/import/start-import.ts'
import { stageContent } from '../../app/images/upload-content.ts'
import { usageOfProject } from '../../app/images/usage.ts'
import { octetStream } from '../../http/octet-stream.ts'
import type { Handler } from '../../http/operation.ts'
import { importInfoView, storesView, usageView } from '../../views/image/info.ts'

/** POST /v2/images/{image_id}/import */
export const importImage: Handler<operations['importImage']> = async (call) => {
  const { app, context, params, body } = call
  await startImport(app.images, context, params.image_id, body)
  return {}
}

/** GET /v2/info/usage */
export const showImageUsage: Handler<operations['showImageUsage']> = async ({ app, context }) => {
  return { body: usageView(await usageOfProject(app.images, context)) }
}

/** GET /v2/info/import */
export const showImportInfo: Handler<operations['showImportInfo']> = async () => {
  return { body: importInfoView() }
}

/** GET /v2/info/stores */
export const showStoresInfo: Handler<operations['showStoresInfo']> = async () => {
  return { body: storesView() }
}

/** PUT /v2/images/{image_id}/stage */
export const stageImage: Handler<operations['stageImage']> = async (call) => {
  const { app, context, params, raw } = call
  await stageContent(app.images, context, { imageId: params.image_id, ...octetStream(raw) })
  return {}
}
