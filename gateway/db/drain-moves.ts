import { and, desc, eq, inArray, isNull, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { DrainedServer, DrainMove, MoveMethod } from '../app/operations/drain-plan.ts'
import type { HostRecord } from './host-list.ts'
import { holdRunning } from './operations.ts'
import { drainMoves, operations } from './schema/operations.ts'
import {
  instanceMappings,
  serverActionEvents,
  serverActions,
  serverIndex,
} from './schema/servers.ts'
import { SERVER_MOVE } from './server-moves.ts'

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

/**
 * Of the moves of a drain, those that a round has to do with: that have not ended, or whose servers are on the host again.
 * A host may have thousands of servers, and most have moved before the last one has.
 */
export async function movesAtWork(
  db: Executor,
  operationId: string,
  hostId: HostId,
): Promise<readonly DrainMove[]> {
  const isBack = sql`exists (select 1 from server_index s
    where s.server_id = ${drainMoves.serverId} and s.host_id = ${hostId})`
  const isOpen = notInArray(drainMoves.state, ['moved', 'gone'])
  return await selectMoves(db, and(eq(drainMoves.operationId, operationId), or(isOpen, isBack)))
}

async function selectMoves<Method extends string>(
  db: Executor,
  where: SQL | undefined,
): Promise<readonly DrainMove<Method>[]> {
  const rows = await db.orm.select().from(drainMoves).where(where).orderBy(drainMoves.serverId)
  return rows.map((kept) => {
    const { operationId: _, ...row } = kept
    return {
      ...row,
      state: row.state as DrainMove['state'],
      method: row.method as Method | null,
    }
  })
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
  const asSeen = and(eq(drainMoves.state, seen.state), eq(drainMoves.tries, seen.tries))
  const [result] = await db.orm.update(drainMoves).set(changed).where(and(isThis, asSeen))
  return result.affectedRows === 1
}

/** The same for a move that begins, and only while its operation runs: a round may have read it before it was cancelled. */
export function beginMove<Method extends string>(
  db: Transactional,
  operationId: string,
  seen: DrainMove<Method> | undefined,
  to: DrainMove<Method>,
): Promise<boolean> {
  return db.transaction(
    async (tx) =>
      (await holdRunning(tx, operationId)) && (await changeMove(tx, operationId, seen, to)),
  )
}

/** Afterwards none of the drain's moves is waited for: nobody can say any more what has come of them. */
export async function abandonMoves(db: Executor, operationId: string): Promise<void> {
  const isBegun = inArray(drainMoves.state, ['starting', 'moving'])
  await db.orm
    .update(drainMoves)
    .set({ state: 'gone', endedAt: sql`now(3)` })
    .where(and(eq(drainMoves.operationId, operationId), isBegun))
}

/** A server of a drain, with the name that its user gave it. */
export interface NamedServer extends DrainedServer {
  readonly name: string
}

/** The servers on the host, at most `max`, and those of these ids that there still are. */
export async function serversOfDrain(
  db: Executor,
  { view }: Pick<HostRecord, 'view'>,
  ids: readonly string[],
  max: number,
): Promise<readonly NamedServer[]> {
  // By its name, of which there is an index; hosts of other cells may have the same one.
  const isHere = and(eq(serverIndex.host, view.name), eq(serverIndex.hostId, view.hostId))
  const here = await drainedServers(db, isHere, max)
  const known = new Set(here.map(({ id }) => id))
  const others = ids.filter((id) => !known.has(id))
  if (others.length === 0) return here
  return [...here, ...(await drainedServers(db, inArray(serverIndex.serverId, others), max))]
}

async function drainedServers(
  db: Executor,
  which: SQL | undefined,
  max: number,
): Promise<readonly NamedServer[]> {
  const { serverId: id, name, vmState, taskState, intent, isDeleting } = serverIndex
  const rows = await db.orm
    .select({
      ...{ id, name, vmState, hostId: serverIndex.hostId },
      isBusy: sql<number>`${taskState} is not null or ${intent} is not null or ${isDeleting}
        or ${instanceMappings.sagaId} is not null or exists (select 1 from operations o
          where o.slot = concat(${`${SERVER_MOVE} `}, ${id}))`,
    })
    .from(serverIndex)
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, id))
    .where(and(which, isNull(serverIndex.deletedAt)))
    .orderBy(id)
    .limit(max)
  return rows.map((row) => ({ ...row, vmState: row.vmState as VmState, isBusy: row.isBusy === 1 }))
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
