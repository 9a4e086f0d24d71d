import { withoutTrailing } from '#common/without-trailing.ts'
import type { ApiVersion } from '#openapi/compute.gen.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import type { Links } from '../http/links.ts'

/** The versions of the Compute API. */
export function apiVersions(links: Links): readonly ApiVersion[] {
  return [oldVersion(links), currentVersion(links)]
}

/**
 * The endpoint from before microversions: the same API at the oldest of them. Texts for versions are empty, as in
 * Nova.
 */
function oldVersion(links: Links): ApiVersion {
  return {
    id: 'v2.0',
    status: 'SUPPORTED',
    version: '',
    min_version: '',
    updated: '2011-01-21T11:33:21Z',
    links: [{ rel: 'self', href: links.to('/compute/v2/') }],
  }
}

/** The version before microversions, and what describes it. */
export function describedOldVersion(links: Links): ApiVersion {
  return described(oldVersion(links), links)
}

/** The version served, with its range of microversions and what describes it. */
export function describedVersion(links: Links): ApiVersion {
  return described(currentVersion(links), links)
}

/** Where else what was asked for at the root of the endpoint might be: `path` behind each version, as Nova offers it. */
export function versionChoices(links: Links, path: string) {
  return apiVersions(links).map(({ id, status, links: [self] }) => ({
    id,
    status,
    links: [{ rel: 'self', href: `${withoutTrailing(self?.href ?? '', '/')}${path}` }],
    'media-types': [mediaType(id)],
  }))
}

function described(version: ApiVersion, links: Links): ApiVersion {
  const describedBy = { rel: 'describedby', type: 'text/html', href: links.to('/docs') }
  const media = [mediaType(version.id)]
  return { ...version, links: [...version.links, describedBy], 'media-types': media }
}

function mediaType(id: string) {
  const version = id === 'v2.1' ? '2.1' : '2'
  return {
    base: 'application/json',
    type: `application/vnd.openstack.compute+json;version=${version}`,
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
