import { PLACEMENT_HISTORY } from '#openapi/placement-microversions.ts'

/** The one version; its link leads nowhere else, as Placement's. */
export function versionView() {
  const versions = PLACEMENT_HISTORY.map(([version]) => version)
  return {
    id: `v${versions[0]}`,
    min_version: versions[0] ?? '',
    max_version: versions.at(-1) ?? '',
    status: 'CURRENT' as const,
    links: [{ rel: 'self', href: '' }],
  }
}
