import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import { cellMappings } from './schema/cells.ts'
import { instanceMappings } from './schema/servers.ts'

const p = sql.placeholder

const LEFT = sqlStatement(sql`
  select server_id from instance_mappings
  where cell_id = ${p('cellId')} and is_not_built = false limit ${p('max')}`)

const TAKE = statement(
  builder
    .update(instanceMappings)
    .set({
      cellId: sql`${p('cellId')}`,
      attempt: sql`${instanceMappings.attempt} + 1`,
      sagaId: null,
      isDeleting: sql`${p('isDeleting')}`,
      isNotBuilt: sql`${p('isNotBuilt')}`,
      notBuiltReason: sql`${p('reason')}`,
      lostCellId: sql`${p('lostCellId')}`,
      changedAt: sql`now(3)`,
    })
    .where(eq(instanceMappings.serverId, p('serverId'))),
)

/** The statement of the operator who declared a cell lost. */
export interface Loss {
  readonly at: Date
  /** The id of the user. */
  readonly by: string
  /** How the operator says that its machines were stopped. Weir cannot check that. */
  readonly statement: string
}

/** Afterwards the cell is lost; false when it was already. */
export async function insertLoss(
  tx: Tx,
  cellId: CellId,
  { by, statement }: Omit<Loss, 'at'>,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(cellMappings)
    .set({
      lostAt: sql`now(3)`,
      lostBy: by,
      lostStatement: statement,
      revision: sql`${cellMappings.revision} + 1`,
    })
    .where(and(eq(cellMappings.id, cellId), isNull(cellMappings.lostAt)))
  return result.affectedRows === 1
}

/** Afterwards the cell is one like the others, of which a full copy is read first. */
export async function removeLoss(db: Executor, cellId: CellId): Promise<void> {
  await db.orm
    .update(cellMappings)
    .set({
      lostAt: null,
      lostBy: null,
      lostStatement: null,
      needsResync: true,
      revision: sql`${cellMappings.revision} + 1`,
    })
    .where(eq(cellMappings.id, cellId))
}

/** Servers that are still the cell's. */
export async function listServersLeft(
  db: Executor,
  cellId: CellId,
  max: number,
): Promise<readonly InstanceId[]> {
  const rows = await db.rows<{ server_id: InstanceId }>(LEFT, { cellId, max: BigInt(max) })
  return rows.map((row) => row.server_id)
}

/** The servers among these that are the cell's, each with its current attempt. */
export async function currentAttempts(
  db: Executor,
  cellId: CellId,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (serverIds.length === 0) return new Map()
  const { serverId, attempt } = instanceMappings
  const rows = await db.orm
    .select({ serverId, attempt })
    .from(instanceMappings)
    .where(and(eq(instanceMappings.cellId, cellId), inArray(serverId, [...serverIds])))
  return new Map(rows.map((row) => [row.serverId, row.attempt]))
}

/** Where a server of a lost cell goes. */
export type Onward =
  | { readonly to: 'deletion' }
  /** It waits to be rebuilt. */
  | { readonly to: 'nowhere'; readonly lostCellId: CellId }
  /** The reconciler that retries builds takes it from there. */
  | { readonly to: 'next-cell'; readonly cellId: CellId; readonly reason: string }

/** Afterwards nothing that the cell has of the server is current: its attempt is raised, and no saga owns it. */
export function queueTakeFromCell(tx: Tx, serverId: string, onward: Onward): void {
  const isNext = onward.to === 'next-cell'
  tx.queue(TAKE, {
    serverId,
    cellId: isNext ? onward.cellId : null,
    isDeleting: onward.to === 'deletion',
    isNotBuilt: isNext,
    reason: isNext ? onward.reason : null,
    lostCellId: onward.to === 'nowhere' ? onward.lostCellId : null,
  })
}
