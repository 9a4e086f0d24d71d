import type { operations } from '#openapi/placement.gen.ts'
import { PLACEMENT_HISTORY } from '#openapi/placement-microversions.ts'
import type { Handler } from '../../http/operation.ts'
import { freshness } from '../../views/placement/freshness.ts'

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async () => {
  return { body: { versions: [versionView()] }, headers: freshness(Date.now()) }
}

/** The one version; its link leads nowhere else, as Placement's. */
function versionView() {
  const versions = PLACEMENT_HISTORY.map(([version]) => version)
  return {
    id: `v${versions[0]}`,
    min_version: versions[0] ?? '',
    max_version: versions.at(-1) ?? '',
    status: 'CURRENT' as const,
    links: [{ rel: 'self', href: '' }],
  }
}
