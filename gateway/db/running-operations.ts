import { and, eq, inArray } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { sagas } from '#common/saga/schema.ts'
import { cellSagas, operations, reconcilerRows } from './schema/operations.ts'

/** Those of these operations, sagas and rows of reconcilers among them, that have not ended. */
export async function runningAmong(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await unionAll(
    db.orm
      .select({ id: operations.id })
      .from(operations)
      .where(and(inArray(operations.id, [...ids]), eq(operations.state, 'running'))),
    db.orm
      .select({ id: sagas.id })
      .from(sagas)
      .where(and(inArray(sagas.id, [...ids]), inArray(sagas.state, ['running', 'unwinding']))),
    db.orm
      .select({ id: cellSagas.id })
      .from(cellSagas)
      .where(
        and(inArray(cellSagas.id, [...ids]), inArray(cellSagas.state, ['running', 'unwinding'])),
      ),
    db.orm
      .select({ id: reconcilerRows.id })
      .from(reconcilerRows)
      .where(
        and(
          inArray(reconcilerRows.id, [...ids]),
          inArray(reconcilerRows.state, ['held', 'suspect']),
        ),
      ),
  )
  return new Set(rows.map(({ id }) => id))
}
