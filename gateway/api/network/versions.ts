import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../http/operation.ts'
import { resourceViews, versionView } from '../../views/network/versions.ts'

/** GET /v2.0 */
export const listResources: Handler<operations['listResources']> = async (call) => {
  return { body: { resources: resourceViews(call.links) } }
}

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: [versionView(call.links)] } }
}
