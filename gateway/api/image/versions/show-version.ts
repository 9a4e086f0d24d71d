import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { newestVersionView } from '../../../views/image/versions.ts'

/** GET /v2 */
export const showVersion: Handler<operations['showVersion']> = async (call) => {
  return { body: { version: newestVersionView(call.links) } }
}
