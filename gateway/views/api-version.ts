import type { ApiVersion } from '#openapi/compute.gen.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import type { Links } from '../http/links.ts'

/** The versions of the Compute API. */
export function apiVersions(links: Links): readonly ApiVersion[] {
  return [oldVersion(links), currentVersion(links)]
}

/**
 * Named as Nova names it, so that clients which look for it learn that it is no more; texts for versions are empty
 * where there are no microversions.
 */
export function oldVersion(links: Links): ApiVersion {
  return {
    id: 'v2.0',
    status: 'DEPRECATED',
    version: '',
    min_version: '',
    updated: '2011-01-21T11:33:21Z',
    links: [{ rel: 'self', href: links.to('/compute/v2/') }],
  }
}

/** The version served, with its range of microversions and what describes it. */
export function describedVersion(links: Links): ApiVersion {
  const current = currentVersion(links)
  const describedBy = {
    rel: 'describedby',
    type: 'application/json',
    href: links.to('/openapi/compute.json'),
  }
  return {
    ...current,
    links: [...current.links, describedBy],
    'media-types': [
      { base: 'application/json', type: 'application/vnd.openstack.compute+json;version=2.1' },
    ],
  }
}

/** Nova fills `version`, not `max_version`; keystoneauth reads either. */
function currentVersion(links: Links): ApiVersion {
  return {
    id: 'v2.1',
    status: 'CURRENT',
    version: MAX,
    min_version: MIN,
    updated: '2013-07-23T11:33:21Z',
    links: [{ rel: 'self', href: links.to('/compute/v2.1/') }],
  }
}
