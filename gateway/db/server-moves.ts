import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, HostId, InstanceId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { MovedServer, MoveProgress } from '../app/operations/server-move-plan.ts'
import { queueEvents } from './event-inbox.ts'
import {
  beginOperation,
  endOperation,
  type OperationRecord,
  type OperationState,
  operationOf,
  slotOf,
} from './operations.ts'
import { operations, serverMoves } from './schema/operations.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'

/** The move of a server to another cell: the operation, and how far it has come. */
export interface ServerMoveRecord extends OperationRecord, MoveProgress {
  readonly subjectId: InstanceId
  readonly userId: string
  /** The host that fetches the copy ahead; null: none does. */
  readonly copyHostId: HostId | null
  /** What was saved of its disk while it ran; null: nothing, or nothing yet. */
  readonly copiedBytes: number | null
  /** While it was off; null: nothing yet. */
  readonly savedBytes: number | null
}

export interface NewServerMove
  extends Pick<ServerMoveRecord, 'subjectId' | 'subject' | 'toCellId' | 'formerState' | 'userId'> {
  /** The cell that the server is in. */
  readonly cellId: CellId
  readonly requestId: string
  readonly reason: string | null
}

export const SERVER_MOVE = 'server-move'

const now = sql`now(3)`
/** For a row of `server_index` and its mapping: a request, a saga or its cell is changing the server. */
const IS_BUSY = sql<number>`${serverIndex.taskState} is not null or ${serverIndex.intent} is not null
  or ${instanceMappings.sagaId} is not null`
const PURGE = sqlStatement(sql`
  delete from server_moves
    where not exists (select 1 from operations where operations.id = server_moves.operation_id)
    limit ${sql.placeholder('max')}`)

/** Afterwards the server is being moved by the operation whose id is returned: a new one, unless one was running. */
export async function beginServerMove(tx: Tx, move: NewServerMove): Promise<string> {
  const { toCellId, formerState, ...row } = move
  const { subjectId, cellId, requestId } = row
  const counted = { total: 1, remaining: 1 }
  const { id, isNew } = await beginOperation(tx, { ...row, ...counted, kind: SERVER_MOVE })
  if (!isNew) return id
  await tx.orm.insert(serverMoves).values({
    ...{ operationId: id, toCellId, formerState, step: 'waiting', stepAt: now },
    stepRequestId: requestId,
  })
  const details = { action: SERVER_MOVE, state: 'running' }
  queueEvents(tx, [{ type: 'operation.state', serverId: subjectId, cellId, details }])
  return id
}

/** The move of that id; undefined if there is none. */
export async function findServerMove(
  db: Executor,
  id: string,
): Promise<ServerMoveRecord | undefined> {
  const rows = await moveRows(db).where(eq(operations.id, id))
  return rows.map(moveOf)[0]
}

/** The move of that server which has not ended. */
export async function runningMoveOf(
  db: Executor,
  serverId: string,
): Promise<ServerMoveRecord | undefined> {
  const rows = await moveRows(db).where(eq(operations.slot, slotOf(SERVER_MOVE, serverId)))
  return rows.map(moveOf)[0]
}

/** How the move of the server ended that this request began, in its own words; null: it does not say, or there is none. */
export async function messageOfMove(
  db: Executor,
  serverId: string,
  requestId: string,
): Promise<string | null> {
  const { kind, subjectId } = operations
  const isMove = and(eq(kind, SERVER_MOVE), eq(subjectId, serverId))
  const [row] = await db.orm
    .select({ message: operations.message })
    .from(operations)
    .where(and(isMove, eq(operations.requestId, requestId)))
  return row?.message ?? null
}

/** Those that have not ended and may go on, in the order of their ids after one, at most `max`: nothing changes their servers, or these are deleted. */
export async function dueServerMoves(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly ServerMoveRecord[]> {
  const { deletedAt } = serverIndex
  const { isDeleting } = instanceMappings
  const waits = sql`coalesce(${deletedAt} is null and not ${isDeleting} and (${IS_BUSY}), false)`
  const rows = await moveRows(db)
    .leftJoin(serverIndex, eq(serverIndex.serverId, operations.subjectId))
    .leftJoin(instanceMappings, eq(instanceMappings.serverId, operations.subjectId))
    .where(and(eq(operations.state, 'running'), gt(operations.id, after), sql`not ${waits}`))
    .orderBy(asc(operations.id))
    .limit(max)
  return rows.map(moveOf)
}

/** The step that begins. */
export type NextMoveStep = Pick<MoveProgress, 'step' | 'stepRequestId'> &
  Partial<
    Pick<
      ServerMoveRecord,
      'formerState' | 'failure' | 'copyImageId' | 'copyHostId' | 'copiedBytes' | 'savedBytes'
    >
  >

/** Afterwards the move is at this step, from now on; false, and nothing changed, where it is at another than was seen, or was cancelled since. */
export async function beginMoveStep(
  db: Executor,
  { id, step, stepRequestId, isCancelled }: ServerMoveRecord,
  next: NextMoveStep,
): Promise<boolean> {
  const [result] = await db.orm
    .update(serverMoves)
    .set({ ...next, stepAt: now })
    .where(
      and(
        eq(serverMoves.operationId, id),
        eq(serverMoves.step, step),
        eq(serverMoves.stepRequestId, stepRequestId),
        eq(serverMoves.isCancelled, isCancelled),
      ),
    )
  return result.affectedRows === 1
}

/** Afterwards the move goes back; false where it has begun to change cells, or has ended. */
export async function cancelServerMove(tx: Tx, id: string): Promise<boolean> {
  const isBefore = sql`${serverMoves.step} not in ('changing', 'stopping')`
  const isRunning = sql`exists (select 1 from operations o where o.id = ${id} and o.state = 'running')`
  const [result] = await tx.orm
    .update(serverMoves)
    .set({ isCancelled: true })
    .where(and(eq(serverMoves.operationId, id), isBefore, isRunning))
  return result.affectedRows === 1
}

/** Ends a running move, with an event; false for one that has ended already. */
export async function endServerMove(
  tx: Tx,
  { id, subjectId: serverId, cellId }: ServerMoveRecord,
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<boolean> {
  if (!(await endOperation(tx, id, state, message))) return false
  const details = { action: SERVER_MOVE, state }
  queueEvents(tx, [{ type: 'operation.state', serverId, cellId, details }])
  return true
}

/** The server of a move as it is now; undefined once it is gone. */
export async function findMovedServer(
  db: Executor,
  serverId: string,
): Promise<MovedServer | undefined> {
  const [row] = await db.orm
    .select({
      ...{ vmState: serverIndex.vmState, attempt: instanceMappings.attempt },
      ...{ cellId: instanceMappings.cellId, isDeleting: instanceMappings.isDeleting },
      lostCellId: instanceMappings.lostCellId,
      isBusy: IS_BUSY,
    })
    .from(serverIndex)
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, serverIndex.serverId))
    .where(and(eq(serverIndex.serverId, serverId), isNull(serverIndex.deletedAt)))
  if (row === undefined) return undefined
  const { lostCellId, ...seen } = row
  return {
    ...seen,
    vmState: row.vmState as VmState,
    cellId: row.cellId as CellId | null,
    isBusy: row.isBusy === 1,
    isCellLost: row.cellId === null && lostCellId !== null,
  }
}

/** Removes at most `max` rows of operations that are not kept any more. */
export async function purgeServerMoves(db: Executor, max: number): Promise<number> {
  return (await db.run(PURGE, { max })).affectedRows
}

function moveRows(db: Executor) {
  return db.orm
    .select({ row: operations, move: serverMoves })
    .from(operations)
    .innerJoin(serverMoves, eq(serverMoves.operationId, operations.id))
    .$dynamic()
}

function moveOf({
  row,
  move,
}: {
  readonly row: typeof operations.$inferSelect
  readonly move: typeof serverMoves.$inferSelect
}): ServerMoveRecord {
  const { toCellId, stepAt, stepRequestId, isCancelled, failure } = move
  const { copyImageId, copyHostId, copiedBytes, savedBytes } = move
  const operation = operationOf(row)
  const isLeaving = move.step === 'changing' || move.step === 'stopping'
  return {
    ...operation,
    ...{ stepAt, stepRequestId, isCancelled, failure, copyImageId, copiedBytes, savedBytes },
    copyHostId: copyHostId as HostId | null,
    subjectId: row.subjectId as InstanceId,
    userId: row.userId,
    fromCellId: row.cellId as CellId,
    toCellId: toCellId as CellId | null,
    formerState: move.formerState as MoveProgress['formerState'],
    step: move.step as MoveProgress['step'],
    isCancellable: operation.isCancellable && !isLeaving,
  }
}
