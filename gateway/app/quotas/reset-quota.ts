import type { Transactional } from '#common/db/database.ts'
import { deleteProjectLimits } from '../../db/quota-limits.ts'
import { deleteUserLimits } from '../../db/user-quota-limits.ts'

/** Afterwards the default limits hold for the project and its users; or the project's for one user, if one is named. */
export async function resetQuota(
  db: Transactional,
  projectId: string,
  userId: string | undefined,
): Promise<void> {
  if (userId !== undefined) return deleteUserLimits(db, projectId, userId)
  await db.transaction(async (tx) => {
    await deleteProjectLimits(tx, projectId)
    await deleteUserLimits(tx, projectId)
  })
}
