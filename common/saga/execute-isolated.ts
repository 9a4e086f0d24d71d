import type { Clock } from '../clock.ts'
import type { Transactional } from '../db/database.ts'
import type { SagaId } from '../ids.ts'
import type { Logger } from '../log.ts'
import { execute, REST_MS } from './execution.ts'
import type { Lease } from './lease.ts'
import { readSaga } from './log.ts'
import { Progress } from './progress.ts'
import type { Saga, SagaOutcome } from './saga.ts'

/** A saga that may have ended a process, for an isolated process. */
export interface IsolatedSaga {
  readonly kind: 'saga'
  readonly id: SagaId
  /** Of the process that gives it. Once another has taken over, nothing that is done here commits. */
  readonly lease: Lease
}

export interface IsolatedDeps<Deps> {
  readonly db: Transactional
  readonly deps: Deps
  readonly sagas: readonly Saga<Deps, never>[]
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Takes the saga to its end, however long its remotes do not answer. 'handed-over' only if it no longer belongs to that
 * process, or has ended. Throws while the database is unavailable.
 */
export async function executeIsolated<Deps>(
  { db, deps, sagas, clock, log }: IsolatedDeps<Deps>,
  { id, lease }: IsolatedSaga,
  signal: AbortSignal,
): Promise<SagaOutcome | 'handed-over'> {
  for (;;) {
    const found = await readSaga(db, lease, id)
    const saga = sagas.find(({ name }) => name === found?.name)
    if (found === undefined || saga === undefined) return 'handed-over'
    const { log: rows, isSuspect: _, ...record } = found
    const carried = saga as Saga<unknown, never>
    const progress = new Progress(rows)
    const execution = { db, deps, clock, log, saga: carried, record, lease, signal, progress }
    const outcome = await execute(execution)
    if (outcome !== 'handed-over') return outcome
    await clock.sleep(REST_MS, signal)
  }
}
