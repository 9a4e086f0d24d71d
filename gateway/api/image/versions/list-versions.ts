import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { versionViews } from '../../../views/image/versions.ts'

/** GET /: 300, as clients of Glance look for it. */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}
