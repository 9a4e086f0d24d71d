import type { operations } from '#openapi/image.gen.ts'
import { usageOfProject } from '../../../app/images/usage.ts'
import type { Handler } from '../../../http/operation.ts'
import { usageView } from '../../../views/image/info.ts'

/** GET /v2/info/usage */
export const showImageUsage: Handler<operations['showImageUsage']> = async ({ app, context }) => {
  return { body: usageView(await usageOfProject(app.images, context)) }
}
