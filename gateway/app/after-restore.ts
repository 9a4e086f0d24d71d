import type { Transactional } from '#common/db/database.ts'
import { listCellMappings, requestResync } from '../db/cell-mappings.ts'
import { deleteAllTokens } from '../db/identity/tokens.ts'

/**
 * To be called once on a global database that was restored, before a gateway opens it. Afterwards a full copy of each cell
 * will be read, and nobody is logged in: a token may have been revoked since.
 */
export async function afterRestore(db: Transactional): Promise<void> {
  for (const { id } of await listCellMappings(db)) await requestResync(db, id)
  await deleteAllTokens(db)
}
