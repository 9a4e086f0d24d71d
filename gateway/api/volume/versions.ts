import type { operations } from '#openapi/volume.gen.ts'
import { VOLUME_HISTORY } from '#openapi/volume-microversions.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'

/** GET / */
export const listVersions: Handler<operations['listVersions']> = async ({ links }) => {
  return { body: { versions: [versionView(links)] } }
}

/** GET /v3: clients discover the range of microversions here. */
export const showVersion: Handler<operations['showVersion']> = async ({ links }) => {
  return { body: { versions: [versionView(links)] } }
}

/** The one version there is. */
function versionView(links: Links) {
  const versions = VOLUME_HISTORY.map(([version]) => version)
  return {
    id: 'v3.0',
    status: 'CURRENT' as const,
    version: versions.at(-1) ?? '',
    min_version: versions[0] ?? '',
    updated: '2023-08-31T00:00:00Z',
    links: [
      { rel: 'describedby', type: 'text/html', href: links.to('/docs') },
      { rel: 'self', href: links.to('/volume/v3/') },
    ],
    'media-types': [
      { base: 'application/json', type: 'application/vnd.openstack.volume+json;version=3' },
    ],
  }
}
