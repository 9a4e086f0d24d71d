import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import type { CellId } from '#common/ids.ts'
import type { GroupPolicy } from '#openapi/wire/instance.ts'
import { serverGroupMembers, serverGroups } from './schema/server-groups.ts'

export interface ServerGroup {
  readonly id: string
  readonly projectId: string
  readonly userId: string
  readonly name: string
  readonly policy: GroupPolicy
  /** Null: not set. */
  readonly maxPerHost: number | null
  readonly cellId: CellId | null
  /** Ids of servers, by id. */
  readonly members: readonly string[]
}

export interface GroupPage {
  /** Null: those of all projects. */
  readonly projectId: string | null
  readonly offset: number
  readonly limit: number
}

type Row = typeof serverGroups.$inferSelect

/** In the order they were made. */
export async function listServerGroups(
  db: Executor,
  { projectId, offset, limit }: GroupPage,
): Promise<readonly ServerGroup[]> {
  const rows = await db.orm
    .select()
    .from(serverGroups)
    .where(projectId === null ? undefined : eq(serverGroups.projectId, projectId))
    .orderBy(asc(serverGroups.serial))
    .limit(limit)
    .offset(offset)
  return withMembers(db, rows)
}

export async function findServerGroup(db: Executor, id: string): Promise<ServerGroup | undefined> {
  const rows = await db.orm.select().from(serverGroups).where(eq(serverGroups.id, id))
  return (await withMembers(db, rows))[0]
}

/** Like `findServerGroup`; locks the group until the transaction ends, so that no member joins, leaves or moves. */
export async function lockServerGroup(tx: Tx, id: string): Promise<ServerGroup | undefined> {
  await lockRows(tx, serverGroups, eq(serverGroups.id, id))
  return findServerGroup(tx, id)
}

export async function insertServerGroup(
  tx: Tx,
  group: Omit<ServerGroup, 'cellId' | 'members'>,
): Promise<void> {
  await tx.orm.insert(serverGroups).values({ ...group, createdAt: sql`now(3)` })
}

/** False when there was none. Its servers stay, in no group. */
export async function deleteServerGroup(tx: Tx, id: string): Promise<boolean> {
  const [{ affectedRows }] = await tx.orm.delete(serverGroups).where(eq(serverGroups.id, id))
  await tx.orm.delete(serverGroupMembers).where(eq(serverGroupMembers.groupId, id))
  return affectedRows === 1
}

/** For a group that is locked. */
export async function setGroupCell(tx: Tx, id: string, cellId: CellId | null): Promise<void> {
  await tx.orm.update(serverGroups).set({ cellId }).where(eq(serverGroups.id, id))
}

export async function insertGroupMembers(
  tx: Tx,
  groupId: string,
  userId: string,
  serverIds: readonly string[],
): Promise<void> {
  const rows = serverIds.map((serverId) => ({ serverId, groupId, userId }))
  await tx.orm.insert(serverGroupMembers).values(rows)
}

/** The user's servers in the group. */
export async function countGroupMembers(tx: Tx, groupId: string, userId: string): Promise<number> {
  return tx.orm.$count(
    serverGroupMembers,
    and(eq(serverGroupMembers.groupId, groupId), eq(serverGroupMembers.userId, userId)),
  )
}

/** The groups that any of these servers are in. */
export async function groupsOfServers(
  db: Executor,
  serverIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ groupId: serverGroupMembers.groupId })
    .from(serverGroupMembers)
    .where(inArray(serverGroupMembers.serverId, [...serverIds]))
    .orderBy(asc(serverGroupMembers.groupId))
  return rows.map(({ groupId }) => groupId)
}

export async function deleteGroupMembers(tx: Tx, serverIds: readonly string[]): Promise<void> {
  await tx.orm
    .delete(serverGroupMembers)
    .where(inArray(serverGroupMembers.serverId, [...serverIds]))
}

async function withMembers(db: Executor, rows: readonly Row[]): Promise<readonly ServerGroup[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const members = await db.orm
    .select({ serverId: serverGroupMembers.serverId, groupId: serverGroupMembers.groupId })
    .from(serverGroupMembers)
    .where(inArray(serverGroupMembers.groupId, ids))
    .orderBy(asc(serverGroupMembers.serverId))
  const byGroup = Map.groupBy(members, ({ groupId }) => groupId)
  return rows.map(({ id, projectId, userId, name, policy, maxPerHost, cellId }) => ({
    id,
    projectId,
    userId,
    name,
    policy: policy as GroupPolicy,
    maxPerHost,
    cellId: cellId as CellId | null,
    members: (byGroup.get(id) ?? []).map(({ serverId }) => serverId),
  }))
}
