import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type Flavor, type FlavorSight, findFlavor } from '../../db/flavors.ts'

/** What decides which flavors a caller sees. */
export interface FlavorViewer {
  readonly projectId: string | null
  readonly isAdmin: boolean
}

/** The flavor; throws `not-found` when there is none or this caller may not see it. */
export async function showFlavor(db: Executor, caller: FlavorViewer, id: string): Promise<Flavor> {
  const flavor = await findFlavor(db, id, sightOf(caller))
  if (flavor === undefined) throw flavorNotFound(id)
  return flavor
}

/** Administrators see every flavor, others the public ones and those their project was given. */
export function sightOf({ isAdmin, projectId }: FlavorViewer): FlavorSight {
  return isAdmin ? { all: true } : { projectId }
}

export function flavorNotFound(id: string): Failure {
  return new Failure('not-found', `Flavor ${id} could not be found.`)
}
