import { count, eq, or } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { cellMappings, cellTunnels, hostIndex } from './schema/cells.ts'
import { networkSegments } from './schema/network.ts'
import { cellSagas } from './schema/operations.ts'
import { instanceMappings } from './schema/servers.ts'
import { volumes } from './schema/volumes.ts'

/** How many servers are in the cell or may be: those on their way there or being deleted included. */
export async function countServersIn(db: Executor, cellId: CellId): Promise<number> {
  const [row] = await db.orm
    .select({ servers: count() })
    .from(instanceMappings)
    .where(eq(instanceMappings.cellId, cellId))
  return row?.servers ?? 0
}

/** Afterwards the cell is not there, nor its hosts; the history of its servers stays, and its volumes are in error. */
export async function removeCell(tx: Tx, cellId: CellId): Promise<void> {
  await tx.orm.delete(hostIndex).where(eq(hostIndex.cellId, cellId))
  await tx.orm.delete(networkSegments).where(eq(networkSegments.cellId, cellId))
  await tx.orm.delete(cellSagas).where(eq(cellSagas.cellId, cellId))
  const isOf = or(eq(cellTunnels.cellId, cellId), eq(cellTunnels.otherCellId, cellId))
  await tx.orm.delete(cellTunnels).where(isOf)
  await tx.orm
    .update(volumes)
    .set({ cellId: null, status: 'error', storeId: null, storeName: null, sagaId: null })
    .where(eq(volumes.cellId, cellId))
  await tx.orm.delete(cellMappings).where(eq(cellMappings.id, cellId))
}
