import { getPath } from 'hono/utils/url'
import { Failure } from '#common/errors.ts'
import type { Caller } from '../app/request-context.ts'

/** Nova's optional project id, as clients built for old catalogs put it. Keystone ids or dashed UUIDs. */
const COMPUTE_PROJECT =
  /^\/compute\/v2\.1\/(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/
const COMPUTE = '/compute/v2.1'
/** Neutron's clients have always put the format behind some paths; names of things may end so, too. */
const NETWORK_FORMAT = /^(\/networking\/v2\.0\/(?:[a-z-]+|quotas\/[^/]+(?:\/details)?))\.json$/

/**
 * The one spelling of a path that is routed, so that each operation is registered once: no slash at the end
 * (clients call both spellings and must not be redirected), no empty segment (fog puts them behind an endpoint), `/`
 * and `/v3…` for `/identity…` (bare `OS_AUTH_URL`s), `/compute/v2.1/{project}/…` for `/compute/v2.1/…`, no `.json`
 * behind a list of the network service.
 */
export function normalPath(request: Request): string {
  const path = withoutEmptySegments(getPath(request))
  if (path === '') return '/identity'
  if (path === '/v3' || path.startsWith('/v3/')) return `/identity${path}`
  if (path.endsWith('.json')) return path.replace(NETWORK_FORMAT, '$1')
  if (!path.startsWith(COMPUTE)) return path
  const project = COMPUTE_PROJECT.exec(path)
  return project === null ? path : COMPUTE + path.slice(project[0].length)
}

/** Throws `invalid` when a compute URL carries a project that is not the token's, as Nova does. */
export function refuseForeignProject(request: Request, { projectId }: Caller): void {
  const project = COMPUTE_PROJECT.exec(withoutEmptySegments(getPath(request)))
  if (project === null || project[0].slice(COMPUTE.length + 1) === projectId) return
  throw new Failure('invalid', 'Malformed request URL: its project is not the one of the token.')
}

function withoutEmptySegments(path: string): string {
  const single = path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path
  return single.endsWith('/') ? single.slice(0, -1) : single
}
