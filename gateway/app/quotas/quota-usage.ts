import type { Executor } from '#common/db/database.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { QUOTA_RESOURCES, type QuotaResource } from './resources.ts'

export type QuotaUsage = Readonly<Record<QuotaResource, number>>

/** What the project uses. Key pairs belong to users, so a project uses none. */
export async function quotaUsage(db: Executor, projectId: string): Promise<QuotaUsage> {
  const used = await usagesOf(db, projectId)
  const usage = QUOTA_RESOURCES.map((resource) => [resource, used.get(resource) ?? 0] as const)
  return Object.fromEntries(usage) as QuotaUsage
}
