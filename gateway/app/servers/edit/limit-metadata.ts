import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { ProjectUser } from '../../../db/user-quota-limits.ts'
import { lowerLimit } from '../../quotas/quota-limits.ts'
import { UNLIMITED } from '../../quotas/resources.ts'

/** Throws `over-quota` for more metadata items than the project and the user may give a server. */
export async function limitMetadata(
  db: Executor,
  owner: ProjectUser,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  const count = Object.keys(metadata).length
  if (count === 0) return
  const limit = await lowerLimit(db, owner, 'metadata_items')
  if (limit !== UNLIMITED && count > limit)
    throw new Failure('over-quota', `Maximum number of metadata items exceeds ${limit}`)
}
