import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type Flavor, findFlavor } from '../../db/flavors.ts'
import type { Caller } from '../request-context.ts'

/** The flavor; throws `not-found` when there is none or this caller may not see it. */
export async function showFlavor(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  id: string,
): Promise<Flavor> {
  const sight = caller.isAdmin ? ({ all: true } as const) : { projectId: caller.projectId }
  const flavor = await findFlavor(db, id, sight)
  if (flavor === undefined) throw flavorNotFound(id)
  return flavor
}

export function flavorNotFound(id: string): Failure {
  return new Failure('not-found', `Flavor ${id} could not be found.`)
}
