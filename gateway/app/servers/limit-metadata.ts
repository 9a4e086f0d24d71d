import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { quotaLimits } from '../quotas/quota-limits.ts'
import { UNLIMITED } from '../quotas/resources.ts'

/** Throws `over-quota` for more metadata items than the project may give a server. */
export async function limitMetadata(
  db: Executor,
  projectId: string,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  const count = Object.keys(metadata).length
  if (count === 0) return
  const { metadata_items: limit } = await quotaLimits(db, projectId)
  if (limit !== UNLIMITED && count > limit)
    throw new Failure('over-quota', `Maximum number of metadata items exceeds ${limit}`)
}
