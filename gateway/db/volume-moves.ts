import { and, asc, count, eq, gt, inArray, isNotNull, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, VolumeId } from '#common/ids.ts'
import { queueEvents } from './event-inbox.ts'
import {
  beginOperation,
  endOperation,
  holdRunning,
  type OperationRecord,
  type OperationState,
  operationOf,
  slotOf,
} from './operations.ts'
import { operations, volumeMoves } from './schema/operations.ts'

/** The move of a volume to another cell, or to another store of its own: the operation, and where it leads. */
export interface VolumeMoveRecord extends OperationRecord {
  readonly subjectId: VolumeId
  readonly toCellId: CellId
  /** By name or id; null: any. */
  readonly toStore: string | null
  /** In which that cell is asked for it. */
  readonly attempt: number
  readonly isCancelled: boolean
}

export interface NewVolumeMove extends Pick<VolumeMoveRecord, 'subjectId' | 'subject'> {
  /** The cell that the volume is in. */
  readonly cellId: CellId
  readonly toCellId: CellId
  /** Absent: any. */
  readonly toStore?: string | null
  readonly attempt: number
  readonly reason: string | null
  readonly userId: string
  readonly requestId: string
}

/** Content that a move has left in a cell, which is to delete it. */
export interface LeftContent {
  readonly operationId: string
  readonly volumeId: VolumeId
  readonly cellId: CellId
  readonly attempt: number
}

export const VOLUME_MOVE = 'volume-move'

const PURGE = sqlStatement(sql`
  delete from volume_moves
    where not exists (select 1 from operations where operations.id = volume_moves.operation_id)
      and (left_cell_id is null
        or not exists (select 1 from cell_mappings where cell_mappings.id = volume_moves.left_cell_id))
    limit ${sql.placeholder('max')}`)

/** Afterwards the volume is being moved by the operation whose id is returned; undefined: another one moves it. */
export async function beginVolumeMove(tx: Tx, move: NewVolumeMove): Promise<string | undefined> {
  const { toCellId, toStore, attempt, ...row } = move
  const { id, isNew } = await beginOperation(tx, { ...row, kind: VOLUME_MOVE })
  if (!isNew) return undefined
  const { subjectId: volumeId, cellId } = row
  await tx.orm.insert(volumeMoves).values({ operationId: id, volumeId, toCellId, toStore, attempt })
  const details = { action: VOLUME_MOVE, state: 'running', volumeId }
  queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return id
}

/** The move of that volume which has not ended. */
export async function runningVolumeMove(
  db: Executor,
  volumeId: string,
): Promise<VolumeMoveRecord | undefined> {
  const rows = await db.orm
    .select({ row: operations, move: volumeMoves })
    .from(operations)
    .innerJoin(volumeMoves, eq(volumeMoves.operationId, operations.id))
    .where(eq(operations.slot, slotOf(VOLUME_MOVE, volumeId)))
  return rows.map(moveOf)[0]
}

/** The move of one of these volumes that the request has begun, whether it has ended or not. */
export async function volumeMoveOfRequest(
  db: Executor,
  volumeIds: readonly VolumeId[],
  requestId: string,
): Promise<VolumeMoveRecord | undefined> {
  if (volumeIds.length === 0) return undefined
  const rows = await db.orm
    .select({ row: operations, move: volumeMoves })
    .from(operations)
    .innerJoin(volumeMoves, eq(volumeMoves.operationId, operations.id))
    .where(and(inArray(volumeMoves.volumeId, [...volumeIds]), eq(operations.requestId, requestId)))
  return rows.map(moveOf)[0]
}

/** True if an operator has cancelled the move. */
export async function isMoveCancelled(db: Executor, operationId: string): Promise<boolean> {
  const rows = await db.orm
    .select({ isCancelled: volumeMoves.isCancelled })
    .from(volumeMoves)
    .where(eq(volumeMoves.operationId, operationId))
  return rows[0]?.isCancelled === true
}

/** Afterwards the volume stays where it is; false for a move that has ended. */
export async function cancelVolumeMove(tx: Tx, operationId: string): Promise<boolean> {
  if (!(await holdRunning(tx, operationId))) return false
  await tx.orm
    .update(volumeMoves)
    .set({ isCancelled: true })
    .where(eq(volumeMoves.operationId, operationId))
  return true
}

/** Ends a running move, with an event; one that has ended stays as it is. */
export async function endVolumeMove(
  tx: Tx,
  ended: { readonly id: string; readonly volumeId: VolumeId; readonly cellId: CellId },
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<void> {
  const { id, volumeId, cellId } = ended
  if (!(await endOperation(tx, id, state, message))) return
  const details = { action: VOLUME_MOVE, state, volumeId }
  queueEvents(tx, [{ type: 'operation.state', cellId, details }])
}

/** Afterwards the cell is to delete what it has of the volume in this attempt, until it says that it has. */
export async function leaveContent(
  tx: Tx,
  operationId: string,
  { cellId, attempt }: Pick<LeftContent, 'cellId' | 'attempt'>,
): Promise<void> {
  await tx.orm
    .update(volumeMoves)
    .set({ leftCellId: cellId, leftAttempt: attempt })
    .where(eq(volumeMoves.operationId, operationId))
}

/** The same for the cell that the volume leaves in this transaction; false, and nothing changed, for a cancelled move. */
export async function leaveCell(
  tx: Tx,
  operationId: string,
  { cellId, attempt }: Pick<LeftContent, 'cellId' | 'attempt'>,
): Promise<boolean> {
  // A cancellation waits for it, or has committed before.
  if (!(await holdRunning(tx, operationId))) return false
  const isWanted = and(eq(volumeMoves.operationId, operationId), eq(volumeMoves.isCancelled, false))
  const [result] = await tx.orm
    .update(volumeMoves)
    .set({ leftCellId: cellId, leftAttempt: attempt })
    .where(isWanted)
  return result.affectedRows === 1
}

/** What moves have left in these cells, in the order of the moves' ids after one, at most `max`. */
export async function contentLeft(
  db: Executor,
  cells: readonly CellId[],
  after: string,
  max: number,
): Promise<readonly LeftContent[]> {
  const { operationId, leftCellId, leftAttempt } = volumeMoves
  const rows = await db.orm
    .select()
    .from(volumeMoves)
    .where(and(inArray(leftCellId, [...cells]), isNotNull(leftAttempt), gt(operationId, after)))
    .orderBy(asc(operationId))
    .limit(max)
  return rows.map((row) => ({
    operationId: row.operationId,
    volumeId: row.volumeId as VolumeId,
    cellId: row.leftCellId as CellId,
    attempt: row.leftAttempt!,
  }))
}

/** True while the cell is to delete content of the volume that a move has left there. */
export async function hasContentLeft(
  db: Executor,
  volumeId: VolumeId,
  cellId: CellId,
): Promise<boolean> {
  const isLeft = and(eq(volumeMoves.volumeId, volumeId), eq(volumeMoves.leftCellId, cellId))
  return (await db.orm.$count(volumeMoves, isLeft)) > 0
}

/** Afterwards it is known that the content is gone. */
export async function recordContentGone(
  db: Executor,
  { operationId, cellId }: LeftContent,
): Promise<void> {
  await db.orm
    .update(volumeMoves)
    .set({ leftCellId: null, leftAttempt: null })
    .where(and(eq(volumeMoves.operationId, operationId), eq(volumeMoves.leftCellId, cellId)))
}

/** How many moves lead to the cell, or have left content there. */
export async function countMovesAt(db: Executor, cellId: CellId): Promise<number> {
  const isComing = and(eq(volumeMoves.toCellId, cellId), eq(operations.state, 'running'))
  const [row] = await db.orm
    .select({ moves: count() })
    .from(volumeMoves)
    .leftJoin(operations, eq(operations.id, volumeMoves.operationId))
    .where(or(isComing, eq(volumeMoves.leftCellId, cellId)))
  return row?.moves ?? 0
}

/** Removes at most `max` rows of operations that are not kept any more, unless a cell has still to delete what they left. */
export async function purgeVolumeMoves(db: Executor, max: number): Promise<number> {
  return (await db.run(PURGE, { max })).affectedRows
}

function moveOf({
  row,
  move: { toCellId, toStore, attempt, isCancelled },
}: {
  readonly row: typeof operations.$inferSelect
  readonly move: typeof volumeMoves.$inferSelect
}): VolumeMoveRecord {
  return {
    ...operationOf(row),
    ...{ toStore, attempt, isCancelled },
    subjectId: row.subjectId as VolumeId,
    toCellId: toCellId as CellId,
  }
}
