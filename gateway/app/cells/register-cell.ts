import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, parseId } from '#common/ids.ts'
import { insertCellMapping } from '../../db/cell-mappings.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/

/** Afterwards every gateway knows the cell within a second. Repeating it with the same id and name is harmless. */
export async function registerCell(
  db: Executor,
  cell: { readonly id: string; readonly name: string },
): Promise<void> {
  if (!NAME.test(cell.name))
    throw new Failure(
      'invalid',
      `Invalid cell name: '${cell.name}'. Use 1 to 63 letters, digits, '-' and '_', not starting with a sign.`,
    )
  await insertCellMapping(db, { id: parseId<CellId>(cell.id, 'cell id'), name: cell.name })
}
