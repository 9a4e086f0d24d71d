import type { Executor } from '#common/db/database.ts'
import { type Flavor, updateFlavorDescription } from '../../db/flavors.ts'
import type { Caller } from '../request-context.ts'
import { flavorNotFound, showFlavor } from './show-flavor.ts'

/** Afterwards the flavor has this description. Throws `not-found`. */
export async function describeFlavor(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  id: string,
  description: string | null,
): Promise<Flavor> {
  if (!(await updateFlavorDescription(db, id, description))) throw flavorNotFound(id)
  return showFlavor(db, caller, id)
}
