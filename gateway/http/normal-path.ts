import { getPath } from 'hono/utils/url'
import { Failure } from '#common/errors.ts'
import type { Caller } from '../app/request-context.ts'
import type { Links } from './links.ts'

/** The optional project id of Nova and Cinder, as clients built for old catalogs put it. Keystone ids or dashed UUIDs. */
const WITH_PROJECT =
  /^(\/compute\/v2\.1|\/volume\/v3)\/([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/
const COMPUTE = '/compute/v2.1'
const IMAGES = '/image/v2/images'
/** Neutron's clients have always put the format behind some paths; names of things may end so, too. */
const NETWORK_FORMAT = /^(\/networking\/v2\.0\/(?:[a-z-]+|quotas\/[^/]+(?:\/details)?))\.json$/

/** Nova's endpoint from before microversions, with something behind it. */
const LEGACY = /^\/+compute\/+v2(?=\/+[^/])/

/**
 * The one spelling of a path that is routed, so that each operation is registered once: no slash at the end
 * (clients call both spellings and must not be redirected), no empty segment (fog puts them behind an endpoint), `/` and
 * `/v3…` for `/identity…` (bare `OS_AUTH_URL`s) but `/` of a browser for `/ui`, `/compute/v2.1/{project}/…` and the
 * legacy `/compute/v2/…` for `/compute/v2.1/…`, `/volume/v3/{project}/…` for `/volume/v3/…`, no `.json` behind a list of
 * the network service. Of Compute only an endpoint may end with a slash: Nova has nothing at `/servers/`; and Glance
 * takes `/images/` for an image without an id.
 */
export function normalPath(request: Request): string {
  const path = computePath(getPath(request))
  const short = withoutEmptySegments(path)
  if (short === '') return asksForPage(request) ? '/ui' : '/identity'
  if (short === '/v3' || short.startsWith('/v3/')) return `/identity${short}`
  if (short.endsWith('.json')) return short.replace(NETWORK_FORMAT, '$1')
  if (short === IMAGES && path.endsWith('/')) return path
  const routed = short.replace(WITH_PROJECT, '$1')
  const isBelowCompute = routed.startsWith(COMPUTE) && routed !== COMPUTE
  return isBelowCompute && path.endsWith('/') ? `${routed}/` : routed
}

/** Throws `invalid` when a URL carries a project that is not the token's, as Nova and Cinder do. */
export function refuseForeignProject(request: Request, { projectId }: Caller): void {
  const [, , inPath] = WITH_PROJECT.exec(withoutEmptySegments(computePath(getPath(request)))) ?? []
  if (inPath === undefined || inPath === projectId) return
  throw new Failure('invalid', 'Malformed request URL: its project is not the one of the token.')
}

/** True for requests to the endpoint `/compute/v2`, which has no microversions and drops keys it does not know. */
export function isLegacyCompute(request: Request): boolean {
  return LEGACY.test(getPath(request))
}

/** Links that lead on at the endpoint that was called. */
export function legacyLinks(links: Links): Links {
  return { ...links, to: (path) => links.to(path.replace(COMPUTE, '/compute/v2')) }
}

/** Browsers ask for HTML, clients do not. */
function asksForPage(request: Request): boolean {
  return request.headers.get('accept')?.includes('text/html') === true
}

function computePath(path: string): string {
  return path.replace(LEGACY, COMPUTE)
}

function withoutEmptySegments(path: string): string {
  const single = path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path
  return single.endsWith('/') ? single.slice(0, -1) : single
}
