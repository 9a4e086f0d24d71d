import type { Transactional } from '#common/db/database.ts'
import { deleteFlavor as deleteRow } from '../../db/flavors.ts'
import { flavorNotFound } from './show-flavor.ts'

/** Afterwards no server can be made from it; those there are keep what they have. Throws `not-found`. */
export async function deleteFlavor(db: Transactional, id: string): Promise<void> {
  const isDeleted = await db.transaction((tx) => deleteRow(tx, id))
  if (!isDeleted) throw flavorNotFound(id)
}
