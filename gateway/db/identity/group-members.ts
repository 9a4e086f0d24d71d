import { and, eq, inArray } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { groupMembers } from '../schema/identity.ts'

export interface Membership {
  readonly groupId: string
  readonly userId: string
}

/** Who is in which of these groups. */
export async function membersOf(
  db: Executor,
  groupIds: readonly string[],
  limit: number,
): Promise<readonly Membership[]> {
  if (groupIds.length === 0) return []
  return db.orm
    .select()
    .from(groupMembers)
    .where(inArray(groupMembers.groupId, [...groupIds]))
    .limit(limit)
}

/** Ids of the groups the user is in. */
export async function groupsOf(
  db: Executor,
  userId: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.orm
    .select()
    .from(groupMembers)
    .where(eq(groupMembers.userId, userId))
    .limit(limit)
  return rows.map(({ groupId }) => groupId)
}

export async function isMember(db: Executor, { groupId, userId }: Membership): Promise<boolean> {
  const rows = await db.orm
    .select()
    .from(groupMembers)
    .where(and(eq(groupMembers.groupId, groupId), eq(groupMembers.userId, userId)))
  return rows.length > 0
}

/** Afterwards the user is in the group. */
export async function ensureMember(tx: Tx, membership: Membership): Promise<void> {
  await tx.orm.insert(groupMembers).ignore().values(membership)
}

/** Afterwards the user is not in the group; false when that was so before. */
export async function deleteMember(tx: Tx, { groupId, userId }: Membership): Promise<boolean> {
  const [result] = await tx.orm
    .delete(groupMembers)
    .where(and(eq(groupMembers.groupId, groupId), eq(groupMembers.userId, userId)))
  return result.affectedRows > 0
}
