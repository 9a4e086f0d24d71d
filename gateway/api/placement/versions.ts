import type { operations } from '#openapi/placement.gen.ts'
import type { Handler } from '../../http/operation.ts'
import { freshness } from '../../views/placement/freshness.ts'
import { versionView } from '../../views/placement/version.ts'

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async () => {
  return { body: { versions: [versionView()] }, headers: freshness(Date.now()) }
}
