import type { operations } from '#openapi/network.gen.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v2.0 */
export const listResources: Handler<operations['listResources']> = async (call) => {
  return { body: { resources: resourceViews(call.links) } }
}

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async (call) => {
  return { body: { versions: [versionView(call.links)] } }
}

/** The one version there is. */
function versionView(links: Links) {
  const href = links.to('/networking/v2.0/')
  return { id: 'v2.0', status: 'CURRENT' as const, links: [{ rel: 'self', href }] }
}

const COLLECTIONS = [
  ['network', 'networks'],
  ['subnet', 'subnets'],
  ['subnetpool', 'subnetpools'],
  ['port', 'ports'],
  ['security_group', 'security-groups'],
  ['security_group_rule', 'security-group-rules'],
  ['rbac_policy', 'rbac-policies'],
  ['router', 'routers'],
  ['floatingip', 'floatingips'],
  ['quota', 'quotas'],
  ['extension', 'extensions'],
] as const

/** The collections of the version, which Neutron answers at its root. */
function resourceViews(links: Links) {
  return COLLECTIONS.map(([name, path]) => ({
    name,
    collection: path.replaceAll('-', '_'),
    links: [{ rel: 'self', href: links.to(`/networking/v2.0/${path}`) }],
  }))
}
