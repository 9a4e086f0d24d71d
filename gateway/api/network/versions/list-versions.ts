import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { versionView } from '../../../views/network/versions.ts'

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: [versionView(call.links)] } }
}
