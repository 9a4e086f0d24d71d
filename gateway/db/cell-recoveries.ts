import { and, asc, eq, gt, gte, inArray, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { LostServer, RecoverySource } from '../app/operations/recovery-plan.ts'
import { queueEvents } from './event-inbox.ts'
import {
  beginOperation,
  endOperation,
  IS_BEGUN,
  type OperationRecord,
  type OperationState,
  operationOf,
} from './operations.ts'
import { drainMoves, operations } from './schema/operations.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'

/** The rebuilding of a lost cell's servers in other cells. */
export interface CellRecovery extends OperationRecord {
  /** What they are built from where there is a choice. */
  readonly source: RecoverySource
  /** The most that are built at a time. */
  readonly parallel: number
}

export interface NewRecovery extends Pick<CellRecovery, 'subject' | 'source' | 'parallel'> {
  readonly cellId: CellId
  readonly reason: string | null
  readonly userId: string
  readonly requestId: string
}

export const CELL_RECOVERY = 'cell-recovery'

/** Afterwards the cell's servers are being rebuilt by the operation whose id is returned: a new one, unless one was running. */
export async function beginCellRecovery(tx: Tx, recovery: NewRecovery): Promise<string> {
  const { source: recoversFrom, cellId, ...row } = recovery
  const begun = { ...row, kind: CELL_RECOVERY, cellId, recoversFrom, subjectId: cellId }
  const { id, isNew } = await beginOperation(tx, begun)
  const details = { action: CELL_RECOVERY, state: 'running' }
  if (isNew) queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return id
}

/** The recovery of that id; undefined if there is none. */
export async function findCellRecovery(
  db: Executor,
  id: string,
): Promise<CellRecovery | undefined> {
  const rows = await db.orm
    .select()
    .from(operations)
    .where(and(eq(operations.id, id), eq(operations.kind, CELL_RECOVERY)))
  return rows.map(recoveryOf)[0]
}

/** Whether a recovery of the cell has begun since, ended or not. */
export async function hasRecoverySince(
  db: Executor,
  cellId: string,
  since: Date,
): Promise<boolean> {
  const { kind, subjectId, startedAt } = operations
  const [row] = await db.orm
    .select({ id: operations.id })
    .from(operations)
    .where(and(eq(kind, CELL_RECOVERY), eq(subjectId, cellId), gte(startedAt, since)))
    .limit(1)
  return row !== undefined
}

/** Those that have not ended, in the order of their ids after one, at most `max`. */
export async function runningRecoveries(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly CellRecovery[]> {
  const { id, state, kind } = operations
  const rows = await db.orm
    .select()
    .from(operations)
    .where(and(eq(state, 'running'), eq(kind, CELL_RECOVERY), gt(id, after)))
    .orderBy(asc(id))
    .limit(max)
  return rows.map(recoveryOf)
}

/** Ends a running recovery, with an event; false for one that has ended already. */
export async function endCellRecovery(
  tx: Tx,
  { id, cellId }: CellRecovery,
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<boolean> {
  if (!(await endOperation(tx, id, state, message))) return false
  const details = { action: CELL_RECOVERY, state, message }
  queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return true
}

/**
 * The servers that were taken from the lost cell and are in none, at most `max`, and those that the operation has begun to
 * build; those that no cell took when this or another recovery tried are among them.
 */
export async function serversOfRecovery(
  db: Executor,
  cellId: string,
  operationId: string | null,
  max: number,
): Promise<readonly LostServer[]> {
  const isLost = and(isNull(instanceMappings.cellId), eq(instanceMappings.lostCellId, cellId))
  const begun = db.orm
    .select({ id: drainMoves.serverId })
    .from(drainMoves)
    .where(and(eq(drainMoves.operationId, operationId ?? ''), IS_BEGUN))
  const refused = db.orm
    .select({ id: drainMoves.serverId })
    .from(drainMoves)
    .innerJoin(operations, eq(operations.id, drainMoves.operationId))
    .where(
      and(
        eq(operations.kind, CELL_RECOVERY),
        eq(operations.subjectId, cellId),
        eq(drainMoves.state, 'waiting'),
      ),
    )
  // Its mapping has named other cells since the lost one.
  const isRefused = and(
    isNull(instanceMappings.cellId),
    eq(serverIndex.vmState, 'error'),
    inArray(instanceMappings.serverId, refused),
  )
  const begins = operationId === null ? undefined : inArray(instanceMappings.serverId, begun)
  return selectServers(db, or(isLost, isRefused, begins), max)
}

/** The servers of the cell that a recovery would build if the cell were lost, at most `max`: those that have run, and are not to be deleted. */
export async function serversToTake(
  db: Executor,
  cellId: string,
  max: number,
): Promise<readonly LostServer[]> {
  const { launchedAt, intent } = serverIndex
  const isInCell = eq(instanceMappings.cellId, cellId)
  const hasRun = isNotNull(launchedAt)
  const stays = sql`not (${intent} <=> 'delete')`
  const servers = await selectServers(db, and(isInCell, hasRun, stays), max)
  return servers.map((server) => ({ ...server, lostCellId: cellId }))
}

async function selectServers(
  db: Executor,
  which: SQL | undefined,
  max: number,
): Promise<readonly LostServer[]> {
  const { serverId: id, name, vmState, taskState, intent, fault, volumes } = serverIndex
  const rows = await db.orm
    .select({
      ...{ id, name, vmState, fault, volumes, projectId: serverIndex.projectId },
      ...{ cellId: instanceMappings.cellId, attempt: instanceMappings.attempt },
      lostCellId: instanceMappings.lostCellId,
      isBusy: sql<number>`${taskState} is not null or ${intent} is not null
        or ${instanceMappings.sagaId} is not null or ${instanceMappings.isNotBuilt}`,
    })
    .from(instanceMappings)
    .innerJoin(serverIndex, eq(serverIndex.serverId, instanceMappings.serverId))
    .where(and(which, eq(instanceMappings.isDeleting, false), isNull(serverIndex.deletedAt)))
    .orderBy(id)
    .limit(max)
  return rows.map(({ fault: said, volumes: attached, ...row }) => ({
    ...row,
    vmState: row.vmState as VmState,
    isBusy: row.isBusy === 1,
    fault: (said as { readonly message: string } | null)?.message ?? null,
    startsFromVolume: ((attached ?? []) as readonly { readonly isRoot?: boolean }[]).some(
      ({ isRoot }) => isRoot === true,
    ),
  }))
}

function recoveryOf(row: typeof operations.$inferSelect): CellRecovery {
  return {
    ...operationOf(row),
    source: row.recoversFrom as RecoverySource,
    parallel: row.parallel,
  }
}
