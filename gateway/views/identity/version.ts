import type { ApiVersion } from '#openapi/identity.gen.ts'
import type { Links } from '../../http/links.ts'

/**
 * The one version. Its link carries the whole public address and the prefix: gophercloud takes it as the endpoint
 * as it stands, keystoneauth takes its path.
 */
export function versionView(links: Links): ApiVersion {
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
