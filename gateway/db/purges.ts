import { and, eq, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { traces } from './schema/cells.ts'
import {
  serverActionEvents,
  serverActions,
  serverIndex,
  serverMigrations,
} from './schema/servers.ts'

const before = sql.placeholder('before')
const max = sql.placeholder('max')

const KEYS = sqlStatement(
  sql`delete from idempotency_keys where created_at < ${before} limit ${max}`,
)
const ACTIONS = sqlStatement(
  sql`delete from server_actions where started_at < ${before} limit ${max}`,
)
const ACTION_EVENTS = sqlStatement(
  sql`delete from server_action_events where started_at < ${before} limit ${max}`,
)
const TRACES = sqlStatement(sql`delete from traces where created_at < ${before} limit ${max}`)

export function purgeKeys(db: Executor, olderThan: Date, rows: number): Promise<number> {
  return removed(db, KEYS, olderThan, rows)
}

export function purgeActions(db: Executor, olderThan: Date, rows: number): Promise<number> {
  return removed(db, ACTIONS, olderThan, rows)
}

export function purgeActionEvents(db: Executor, olderThan: Date, rows: number): Promise<number> {
  return removed(db, ACTION_EVENTS, olderThan, rows)
}

export function purgeTraces(db: Executor, olderThan: Date, rows: number): Promise<number> {
  return removed(db, TRACES, olderThan, rows)
}

/** Removes servers that were deleted before a time, with all their history: users can no longer list them. */
export async function purgeDeletedServers(
  db: Transactional,
  deletedBefore: Date,
  servers: number,
): Promise<number> {
  const rows = await db.orm
    .select({ id: serverIndex.serverId })
    .from(serverIndex)
    .where(lt(serverIndex.deletedAt, deletedBefore))
    .limit(servers)
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await db.transaction((tx) => forget(tx, ids))
  return rows.length
}

/** The same for one server, whenever it was deleted; one that is not deleted stays. */
export async function purgeDeletedServer(db: Transactional, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const deleted = and(eq(serverIndex.serverId, id), isNotNull(serverIndex.deletedAt))
    if ((await tx.orm.$count(serverIndex, deleted)) > 0) await forget(tx, [id])
  })
}

async function forget(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.orm.delete(traces).where(inArray(traces.serverId, ids))
  await tx.orm.delete(serverActions).where(inArray(serverActions.serverId, ids))
  await tx.orm.delete(serverActionEvents).where(inArray(serverActionEvents.serverId, ids))
  await tx.orm.delete(serverMigrations).where(inArray(serverMigrations.serverId, ids))
  await tx.orm.delete(serverIndex).where(inArray(serverIndex.serverId, ids))
}

async function removed(
  db: Executor,
  what: typeof KEYS,
  olderThan: Date,
  rows: number,
): Promise<number> {
  return (await db.run(what, { before: olderThan, max: rows })).affectedRows
}
