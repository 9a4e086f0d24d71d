import { asc, isNotNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { cellTunnels } from './schema/cells.ts'

/** The last test of the network between the hosts of two cells. */
export interface CellTunnel {
  /** The one with the lower id first. */
  readonly cellIds: readonly [CellId, CellId]
  /** What did not work; null: everything did. */
  readonly failure: string | null
  readonly testedAt: Date
}

const FAILED = statement(
  builder
    .select({
      one: sql`${cellTunnels.cellId}`.as('one'),
      other: sql`${cellTunnels.otherCellId}`.as('other'),
    })
    .from(cellTunnels)
    .where(isNotNull(cellTunnels.failure)),
)

/** By cell, the cells to which the last test found no tunnel. */
export async function failedTunnels(
  db: Executor,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await db.rows<{ one: string; other: string }>(FAILED, {})
  const found = new Map<string, Set<string>>()
  const add = (from: string, to: string) => found.set(from, (found.get(from) ?? new Set()).add(to))
  for (const { one, other } of rows) {
    add(one, other)
    add(other, one)
  }
  return found
}

export async function listTunnels(db: Executor): Promise<readonly CellTunnel[]> {
  const rows = await db.orm
    .select()
    .from(cellTunnels)
    .orderBy(asc(cellTunnels.cellId), asc(cellTunnels.otherCellId))
  return rows.map(({ cellId, otherCellId, failure, testedAt }) => ({
    cellIds: [cellId as CellId, otherCellId as CellId],
    failure,
    testedAt,
  }))
}

/** Afterwards this is the last test of the two cells. */
export async function recordTunnel(
  tx: Tx,
  { cellIds, failure, testedAt }: CellTunnel,
): Promise<void> {
  const [cellId, otherCellId] = cellIds.toSorted()
  await tx.orm
    .insert(cellTunnels)
    .values({ cellId: cellId!, otherCellId: otherCellId!, failure, testedAt })
    .onDuplicateKeyUpdate({ set: { failure, testedAt } })
}
