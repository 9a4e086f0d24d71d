import type { Transactional } from '#common/db/database.ts'
import { listCellMappings, requestResync } from '../db/cell-mappings.ts'
import { deleteAllTokens } from '../db/identity/tokens.ts'

/**
 * Call this once on a global database that was restored, before a gateway opens it. Afterwards every cell is to be
 * read in full, and no token is valid: a token may have been revoked since the backup.
 */
export async function afterRestore(db: Transactional): Promise<void> {
  for (const { id } of await listCellMappings(db)) await requestResync(db, id)
  await deleteAllTokens(db)
}
