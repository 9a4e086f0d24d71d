import type { Executor } from '#common/db/database.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { usagesOfUser } from '../../db/user-usages.ts'
import { QUOTA_RESOURCES, type QuotaResource } from './resources.ts'

export type QuotaUsage = Readonly<Record<QuotaResource, number>>

/** The usage of the project, or of a user in it. Key pairs belong to users only, and Nova shows none in use. */
export async function quotaUsage(
  db: Executor,
  projectId: string,
  userId?: string,
): Promise<QuotaUsage> {
  const used = await (userId === undefined
    ? usagesOf(db, projectId)
    : usagesOfUser(db, { projectId, userId }))
  const usage = QUOTA_RESOURCES.map((resource) => [resource, used.get(resource) ?? 0] as const)
  return Object.fromEntries(usage) as QuotaUsage
}
