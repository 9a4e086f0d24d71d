import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { listCellMappings, requestResync } from '../../db/cell-mappings.ts'

/** Afterwards a gateway reads a full copy of the cell within seconds of hearing it. Throws `not-found`. */
export async function resyncCell(db: Executor, name: string): Promise<void> {
  const cell = (await listCellMappings(db)).find((mapping) => mapping.name === name)
  if (cell === undefined || !(await requestResync(db, cell.id)))
    throw new Failure('not-found', `Cell '${name}' is not registered.`)
}
