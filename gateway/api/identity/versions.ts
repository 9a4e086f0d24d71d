import type { ApiVersion, operations } from '#openapi/identity.gen.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'

/** GET /: 300 and a double envelope, as clients of Keystone look for it. */
export async function listVersions({
  links,
}: Call<operations['listVersions']>): Promise<Answer<operations['listVersions']>> {
  return { body: { versions: { values: [versionView(links)] } } }
}

/** GET /v3 */
export async function showVersion({
  links,
}: Call<operations['showVersion']>): Promise<Answer<operations['showVersion']>> {
  return { body: { version: versionView(links) } }
}

/**
 * The one version. Its link carries the whole public address and the prefix: gophercloud takes it as the endpoint
 * as it stands, keystoneauth takes its path.
 */
function versionView(links: Links): ApiVersion {
  return {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: links.to('/identity/v3/') }],
    'media-types': [
      { base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' },
    ],
  }
}
