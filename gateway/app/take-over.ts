import type { Executor } from '#common/db/database.ts'
import { endLeasesHeldBy, endProcessLease } from '#common/saga/lease.ts'
import type { AbsenceHandler } from './peers.ts'

/** Two questions without an answer: the first may have met a gateway that was just leaving one server of the bus for another. */
const WORK_AFTER_MS = 40
/** Longer than a gateway takes to find another server of the bus: its sagas would be at work twice, and one of both in vain. */
const SAGAS_AFTER_MS = 600

/** Takes over the work of a gateway that is gone: first what is one gateway's at a time, then its sagas. */
export function takeOver(
  db: Executor,
  adoptWork: () => void,
  adoptSagas: () => void,
): readonly AbsenceHandler[] {
  return [
    {
      afterMs: WORK_AFTER_MS,
      act: async ({ processName }) => {
        await endLeasesHeldBy(db, processName)
        adoptWork()
      },
    },
    {
      afterMs: SAGAS_AFTER_MS,
      act: async ({ processName, incarnation }) => {
        await endProcessLease(db, processName, incarnation)
        adoptSagas()
      },
    },
  ]
}
