import { and, inArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { volumeQuotas } from './schema/block-storage.ts'
import { networkQuotas } from './schema/network.ts'
import { quotaUsages } from './schema/resources.ts'

/** What a project uses of a resource. */
export interface ResourceUse {
  readonly projectId: string
  readonly resource: string
  readonly used: number
}

/** The same with the limit of the project's own; null while a default holds. */
export interface LimitedUse extends ResourceUse {
  readonly limit: number | null
}

/** Of Compute, by projects; resources that were never used are absent. */
export async function computeUses(
  db: Executor,
  projectIds: readonly string[],
  resources: readonly string[],
): Promise<readonly ResourceUse[]> {
  if (projectIds.length === 0) return []
  const { ownerId, resource, used } = quotaUsages
  return db.orm
    .select({ projectId: ownerId, resource, used })
    .from(quotaUsages)
    .where(and(inArray(ownerId, [...projectIds]), inArray(resource, [...resources])))
}

/** The same of Networking. */
export async function networkUses(
  db: Executor,
  projectIds: readonly string[],
): Promise<readonly LimitedUse[]> {
  if (projectIds.length === 0) return []
  const { projectId, resource, used, limit } = networkQuotas
  return db.orm
    .select({ projectId, resource, used, limit })
    .from(networkQuotas)
    .where(inArray(projectId, [...projectIds]))
}

/** The same of Block Storage. */
export async function volumeUses(
  db: Executor,
  projectIds: readonly string[],
  resources: readonly string[],
): Promise<readonly LimitedUse[]> {
  if (projectIds.length === 0) return []
  const { projectId, resource, used, limit } = volumeQuotas
  return db.orm
    .select({ projectId, resource, used, limit })
    .from(volumeQuotas)
    .where(and(inArray(projectId, [...projectIds]), inArray(resource, [...resources])))
}
