import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { sqlStatement } from '#common/db/statement.ts'
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

/** The policies that keep the servers of a group in one cell. */
export const TOGETHER: ReadonlySet<GroupPolicy> = new Set(['affinity', 'soft-affinity'])

/** A group without its members, which may be many. */
export type GroupRecord = Omit<ServerGroup, 'members'>

const groupId = sql.placeholder('groupId')
const cellId = sql.placeholder('cellId')

const ENTER = sqlStatement(
  sql`update server_groups set lock_version = lock_version + 1, cell_id = coalesce(cell_id, ${cellId})
    where id = ${groupId} and (${sql.placeholder('anyCell')} or cell_id is null or cell_id = ${cellId})`,
  { sums: [] },
)

const BY_CELL = sqlStatement(sql`
  select i.cell_id, count(*) as members
  from server_group_members m straight_join instance_mappings i on i.server_id = m.server_id
  where m.group_id = ${groupId} and i.cell_id is not null
  group by i.cell_id`)

const MEMBERS = rowsInsert(serverGroupMembers, ['serverId', 'groupId', 'userId'])

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

export async function findGroupRecord(db: Executor, id: string): Promise<GroupRecord | undefined> {
  const [row] = await db.orm.select().from(serverGroups).where(eq(serverGroups.id, id))
  return row && recordOf(row)
}

/** Like `findGroupRecord`; locks the group until the transaction ends, so that no member joins or moves, nor leaves one whose servers are together. */
export async function lockServerGroup(tx: Tx, id: string): Promise<GroupRecord | undefined> {
  await lockRows(tx, serverGroups, eq(serverGroups.id, id))
  return findGroupRecord(tx, id)
}

/** Ids of servers, by id. */
export async function membersOfGroup(db: Executor, id: string): Promise<readonly string[]> {
  return (await membersByGroup(db, [id])).get(id) ?? []
}

export async function insertServerGroup(tx: Tx, group: Omit<GroupRecord, 'cellId'>): Promise<void> {
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

/** Servers that join a group together. */
export interface NewMembers {
  readonly groupId: string
  readonly userId: string
  readonly serverIds: readonly string[]
}

/** Queued like any statement of the transaction. */
export function queueGroupMembers(tx: Tx, { groupId, userId, serverIds }: NewMembers): void {
  MEMBERS.queue(
    tx,
    serverIds.map((serverId) => ({ serverId, groupId, userId })),
  )
}

/**
 * Locks the group, and puts it into this cell unless it is in one: the transaction fails with `otherwise` where the
 * group is gone, or is in another cell than `binding` allows. `cellId` null: its servers need not be together.
 */
export function queueGroupEntry(
  tx: Tx,
  groupId: string,
  { cellId, isBinding }: { readonly cellId: CellId | null; readonly isBinding: boolean },
  otherwise: () => Error,
): void {
  tx.queue(ENTER, { groupId, cellId, anyCell: !isBinding }, { rows: 1, otherwise })
}

/** How many servers of the group each cell has; cells that have none are absent. */
export async function groupMembersByCell(
  db: Executor,
  id: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.rows<{ cell_id: string; members: number | string }>(BY_CELL, {
    groupId: id,
  })
  return new Map(rows.map((row) => [row.cell_id, Number(row.members)]))
}

/** The user's servers in the group. */
export async function countGroupMembers(tx: Tx, groupId: string, userId: string): Promise<number> {
  return tx.orm.$count(
    serverGroupMembers,
    and(eq(serverGroupMembers.groupId, groupId), eq(serverGroupMembers.userId, userId)),
  )
}

/** The groups that any of these servers are in and whose servers are together in a cell. */
export async function placedGroupsOf(
  db: Executor,
  serverIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ groupId: serverGroupMembers.groupId })
    .from(serverGroupMembers)
    .innerJoin(serverGroups, eq(serverGroups.id, serverGroupMembers.groupId))
    .where(
      and(
        inArray(serverGroupMembers.serverId, [...serverIds]),
        inArray(serverGroups.policy, [...TOGETHER]),
      ),
    )
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
  const members = await membersByGroup(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...recordOf(row), members: members.get(row.id) ?? [] }))
}

async function membersByGroup(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.orm
    .select({ serverId: serverGroupMembers.serverId, groupId: serverGroupMembers.groupId })
    .from(serverGroupMembers)
    .where(inArray(serverGroupMembers.groupId, [...ids]))
    .orderBy(asc(serverGroupMembers.serverId))
  const byGroup = Map.groupBy(rows, ({ groupId }) => groupId)
  return new Map([...byGroup].map(([id, of]) => [id, of.map(({ serverId }) => serverId)]))
}

function recordOf({ id, projectId, userId, name, policy, maxPerHost, cellId }: Row): GroupRecord {
  return {
    id,
    projectId,
    userId,
    name,
    policy: policy as GroupPolicy,
    maxPerHost,
    cellId: cellId as CellId | null,
  }
}
