import { isFailure } from '#common/errors.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { applyHostViews } from '../../db/host-index.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'

/** What a change of hosts by their cells needs. */
export type HostChangeDeps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell'>

/**
 * Afterwards the host is as its cell is asked to make it, and every gateway shows it so. False for a cell that cannot be
 * asked now, or is of a release that does not know the request.
 */
export async function changeInCell(
  { db, cells }: Pick<HostChangeDeps, 'db' | 'cells'>,
  { cellId }: HostRecord,
  ask: (cell: CellRef) => Promise<HostView>,
): Promise<boolean> {
  const cell = cells.cell(cellId)
  if (cell?.isReachable !== true) return false
  try {
    const changed = await ask(cell)
    await db.transaction((tx) => applyHostViews(tx, cellId, [changed]))
    return true
  } catch (error) {
    if (isFailure(error, 'unavailable', 'conflict', 'not-found', 'unsupported')) return false
    throw error
  }
}
