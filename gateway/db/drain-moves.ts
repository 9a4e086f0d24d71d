import { and, count, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { DrainMove, MoveMethod } from '../app/operations/drain-plan.ts'
import { BEGUN, holdRunning, IS_BEGUN } from './operations.ts'
import { drainMoves, operations } from './schema/operations.ts'
import { serverActionEvents, serverActions, serverIndex } from './schema/servers.ts'

const PURGE = sqlStatement(sql`
  delete from drain_moves
    where not exists (select 1 from operations where operations.id = drain_moves.operation_id)
    limit ${sql.placeholder('max')}`)

/** What the operation has done about servers, by its methods. */
export async function movesOf<Method extends string = MoveMethod>(
  db: Executor,
  operationId: string,
): Promise<readonly DrainMove<Method>[]> {
  return await selectMoves(db, eq(drainMoves.operationId, operationId))
}

/** Those of the operation's moves that have not ended: an index has these apart from the thousands that have. */
export async function openMoves(db: Executor, operationId: string): Promise<readonly DrainMove[]> {
  return await selectMoves(db, and(eq(drainMoves.operationId, operationId), IS_OPEN), BY_STATE)
}

/** For a row of `drain_moves`: the move has not ended. */
export const IS_OPEN = inArray(drainMoves.state, ['waiting', ...BEGUN])
/** By itself the database reads all moves of the operation for those that have not ended. */
export const BY_STATE = { forceIndex: 'drain_moves_state' }

async function selectMoves<Method extends string>(
  db: Executor,
  where: SQL | undefined,
  hint?: typeof BY_STATE,
): Promise<readonly DrainMove<Method>[]> {
  const rows = await db.orm
    .select()
    .from(drainMoves, hint)
    .where(where)
    .orderBy(drainMoves.serverId)
  return rows.map((row) => moveOf<Method>(row))
}

export function moveOf<Method extends string>(
  kept: typeof drainMoves.$inferSelect,
): DrainMove<Method> {
  const { operationId: _, ...row } = kept
  return {
    ...row,
    state: BEGUN.includes(row.state) ? 'moving' : (row.state as DrainMove['state']),
    method: row.method as Method | null,
  }
}

/** Afterwards the move is as in `to`, unless it has changed since it was seen; false when it has. `seen` undefined: there was none. */
export async function changeMove<Method extends string>(
  db: Executor,
  operationId: string,
  seen: DrainMove<Method> | undefined,
  to: DrainMove<Method>,
): Promise<boolean> {
  const { serverId, ...changed } = to
  if (seen === undefined) {
    const [added] = await db.orm
      .insert(drainMoves)
      .ignore()
      .values({ operationId, ...to })
    return added.affectedRows === 1
  }
  const isThis = and(eq(drainMoves.operationId, operationId), eq(drainMoves.serverId, serverId))
  const inState = seen.state === 'moving' ? IS_BEGUN : eq(drainMoves.state, seen.state)
  const asSeen = and(inState, eq(drainMoves.tries, seen.tries))
  const [result] = await db.orm.update(drainMoves).set(changed).where(and(isThis, asSeen))
  return result.affectedRows === 1
}

/**
 * The same for a move that begins with the transaction, and only while its operation runs, and fewer than `parallel` of its
 * moves are under way: a round may have read it before it was cancelled, or before the round of another gateway began
 * others.
 */
export async function beginMove<Method extends string>(
  tx: Tx,
  operationId: string,
  seen: DrainMove<Method> | undefined,
  to: DrainMove<Method>,
  parallel: number,
): Promise<boolean> {
  if (!(await holdRunning(tx, operationId))) return false
  if ((await countBegun(tx, operationId)) >= parallel) return false
  return changeMove(tx, operationId, seen, to)
}

async function countBegun(tx: Tx, operationId: string): Promise<number> {
  const [row] = await tx.orm
    .select({ count: count() })
    .from(drainMoves)
    .where(and(eq(drainMoves.operationId, operationId), IS_BEGUN))
  return row!.count
}

/** Afterwards none of the drain's moves is waited for: nobody can say any more what has come of them. */
export async function abandonMoves(db: Executor, operationId: string): Promise<void> {
  await db.orm
    .update(drainMoves)
    .set({ state: 'gone', endedAt: sql`now(3)` })
    .where(and(eq(drainMoves.operationId, operationId), IS_BEGUN))
}

/** Why a server waits on the host, by the newest operation that was to move it from there; null: it does not wait, or there is none. */
export async function whyMoveWaits(
  db: Executor,
  hostId: string,
  serverId: string,
): Promise<string | null> {
  const [newest] = await db.orm
    .select({ state: drainMoves.state, reason: drainMoves.reason })
    .from(operations)
    .innerJoin(drainMoves, eq(drainMoves.operationId, operations.id))
    .where(and(eq(operations.subjectId, hostId), eq(drainMoves.serverId, serverId)))
    .orderBy(desc(operations.startedAt))
    .limit(1)
  return newest?.state === 'waiting' ? newest.reason : null
}

/** The names of servers that there are or were. */
export async function namesOfServers(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { serverId: id, name } = serverIndex
  const rows = await db.orm
    .select({ id, name })
    .from(serverIndex)
    .where(inArray(id, [...ids]))
  return new Map(rows.map((row) => [row.id, row.name]))
}

/** Why the action of that request failed, as the server's history has it; null: it does not say. */
export async function failureOf(
  db: Executor,
  serverId: string,
  requestId: string,
): Promise<string | null> {
  const { details, result, startedAt } = serverActionEvents
  const ofRequest = eq(serverActionEvents.requestId, requestId)
  const [event] = await db.orm
    .select({ details })
    .from(serverActionEvents)
    .where(and(eq(serverActionEvents.serverId, serverId), ofRequest, eq(result, 'Error')))
    .orderBy(desc(startedAt))
    .limit(1)
  if (event?.details != null) return event.details
  const [action] = await db.orm
    .select({ message: serverActions.message })
    .from(serverActions)
    .where(and(eq(serverActions.serverId, serverId), eq(serverActions.requestId, requestId)))
  return action?.message ?? null
}

/** Removes at most `max` moves of operations that are not kept any more. */
export async function purgeDrainMoves(db: Executor, max: number): Promise<number> {
  return (await db.run(PURGE, { max })).affectedRows
}
