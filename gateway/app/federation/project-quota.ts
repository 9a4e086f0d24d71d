import type { Database } from '#common/db/database.ts'
import { findProject } from '../../db/identity/projects.ts'
import { imageUsage } from '../../db/image-usage.ts'
import type { Images } from '../images/images.ts'
import { quotasOf } from '../networks/quotas.ts'
import { quotaLimits } from '../quotas/quota-limits.ts'
import { quotaUsage } from '../quotas/quota-usage.ts'
import { UNLIMITED } from '../quotas/resources.ts'
import type { Caller } from '../request-context.ts'
import { foundIdOf } from './named.ts'

/** One resource that a service counts for a project, by that service's name for it. */
export interface ResourceQuota {
  readonly service: 'compute' | 'network' | 'image'
  readonly resource: string
  /** Null for resources that are counted by the piece. */
  readonly unit: 'MiB' | 'bytes' | null
  readonly used: number
  /** Null: none. */
  readonly limit: number | null
}

export interface ProjectQuota {
  readonly projectId: string
  /** Null where an identity service elsewhere knows it. */
  readonly name: string | null
  readonly resources: readonly ResourceQuota[]
}

interface QuotaSources {
  readonly db: Database
  readonly images: Pick<Images, 'limits'>
}

/** In the order in which they are shown. Key pairs are counted, too, but for their users. */
const OF_COMPUTE = ['instances', 'cores', 'ram', 'server_groups'] as const

/**
 * The usage and limits of the project with this id or name, in all services. Throws `not-found` for a missing project,
 * and `conflict` for a name that several have. With an external Keystone any id counts as a project's, because only
 * Keystone knows projects.
 */
export async function projectQuota(
  sources: QuotaSources,
  caller: Pick<Caller, 'isExternal'>,
  idOrName: string,
): Promise<ProjectQuota> {
  const { db } = sources
  const projectId = await projectIdOf(db, caller, idOrName)
  const [project, ...resources] = await Promise.all([
    findProject(db, projectId),
    ofCompute(sources, projectId),
    ofNetwork(sources, projectId),
    ofImages(sources, projectId),
  ])
  return { projectId, name: project?.name ?? null, resources: resources.flat() }
}

/**
 * The id of the project with this id or name. Throws `not-found`, and `conflict` for a name that several have. With an
 * external Keystone any text counts as an id, because only Keystone knows projects.
 */
export async function projectIdOf(
  db: Database,
  { isExternal }: Pick<Caller, 'isExternal'>,
  idOrName: string,
): Promise<string> {
  return isExternal ? idOrName : foundIdOf(db, 'project', idOrName)
}

async function ofCompute({ db }: QuotaSources, id: string): Promise<readonly ResourceQuota[]> {
  const [limits, usage] = await Promise.all([quotaLimits(db, id), quotaUsage(db, id)])
  return OF_COMPUTE.map((resource) => ({
    service: 'compute',
    resource,
    unit: resource === 'ram' ? 'MiB' : null,
    used: usage[resource],
    limit: limited(limits[resource]),
  }))
}

async function ofNetwork({ db }: QuotaSources, id: string): Promise<readonly ResourceQuota[]> {
  const states = Object.entries(await quotasOf({ db }, id))
  return states.map(([resource, { used, limit }]) => ({
    ...{ service: 'network', resource, unit: null },
    ...{ used, limit: limited(limit) },
  }))
}

/** These limits are settings of the gateway, the same for every project, and always hold. */
async function ofImages(
  { db, images: { limits } }: QuotaSources,
  id: string,
): Promise<readonly ResourceQuota[]> {
  const { images, bytes, stagedBytes } = await imageUsage(db, id)
  const service = 'image'
  return [
    { service, resource: 'image_count_total', unit: null, used: images, limit: limits.images },
    {
      ...{ service, resource: 'image_size_total', unit: 'bytes' },
      ...{ used: bytes + stagedBytes, limit: limits.bytes },
    },
  ]
}

function limited(limit: number): number | null {
  return limit === UNLIMITED ? null : limit
}
