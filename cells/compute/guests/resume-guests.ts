import { isFailure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import type { IoErrors } from '#drivers/io-errors.ts'

const EVERY_MS = 10_000
const ROUND_MS = 60_000

/** Guests that their backend has paused because a disk had no room run on once there is room. */
export function resumeGuests(
  ioErrors: IoErrors,
  log: Logger,
  report: () => Promise<void>,
): Reconciler {
  return {
    name: 'resume-guests',
    everyMs: EVERY_MS,
    async round(signal) {
      try {
        const within = AbortSignal.any([signal, AbortSignal.timeout(ROUND_MS)])
        const resumed = await ioErrors.resume(within)
        for (const id of resumed)
          log.info({ server_id: id }, 'guest runs on: its disks have room again')
        if (resumed.length > 0) await report()
        return { resumed: resumed.length }
      } catch (error) {
        // The host's report says so.
        if (isFailure(error, 'unavailable')) return { resumed: 0 }
        throw error
      }
    },
  }
}
