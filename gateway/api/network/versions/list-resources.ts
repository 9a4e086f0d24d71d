import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { resourceViews } from '../../../views/network/versions.ts'

/** GET /v2.0 */
export const listResources: Handler<operations['listResources']> = async (call) => {
  return { body: { resources: resourceViews(call.links) } }
}
