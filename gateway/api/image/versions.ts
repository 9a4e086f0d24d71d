import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../http/operation.ts'
import { newestVersionView, versionViews } from '../../views/image/versions.ts'

/** GET /versions */
export const listVersionsPlainly: Handler<operations['listVersionsPlainly']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}

/** GET /: 300, as clients of Glance look for it. */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: versionViews(call.links) } }
}

/** GET /v2 */
export const showVersion: Handler<operations['showVersion']> = async (call) => {
  return { body: { version: newestVersionView(call.links) } }
}
