import { isDuplicate } from '#common/db/failures.ts'
import { isFailure } from '#common/errors.ts'
import type { SagaStart } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'
import type { Cell } from '../cell.ts'
import type { Conductor } from '../conductor/conductor.ts'

/** Starts a saga; false when what it changes has changed since it was read, or the saga is there already. */
export async function hasStarted<P>(
  { sagas }: Cell,
  saga: Saga<Conductor, P>,
  start: SagaStart<P>,
): Promise<boolean> {
  try {
    await sagas.start(saga, start)
    return true
  } catch (error) {
    if (isFailure(error, 'conflict') || isDuplicate(error)) return false
    throw error
  }
}
