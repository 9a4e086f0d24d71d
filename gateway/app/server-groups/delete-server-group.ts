import type { Transactional } from '#common/db/database.ts'
import { deleteServerGroup as remove } from '../../db/server-groups.ts'
import { refundQuota } from '../quotas/refund-quota.ts'
import type { Caller } from '../request-context.ts'
import { groupNotFound, showServerGroup } from './show-server-group.ts'

/** Afterwards there is no such group; its servers stay where they are. Throws `not-found`. */
export async function deleteServerGroup(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  id: string,
): Promise<void> {
  const group = await showServerGroup(db, caller, id)
  await db.transaction(async (tx) => {
    if (!(await remove(tx, group.id))) throw groupNotFound(id)
    refundQuota(tx, group.projectId, { server_groups: 1 })
  })
}
