import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { versionViews } from '../../../views/image/versions.ts'

/** GET /versions */
export const listVersionsPlainly: Handler<operations['listVersionsPlainly']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}
