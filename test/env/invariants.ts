import { isFailure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Cloud } from './cloud.ts'
import { problemsOf } from './invariants/problems.ts'
import { takeSnapshot } from './invariants/snapshot.ts'

const QUIET_LIMIT_MS = 30_000

/**
 * Waits until no work is in progress in the cloud and every invariant of the design holds: each server is in one cell
 * and on one host, allocations match the servers, quotas match the reservations, no saga is open, and no part of a
 * deleted object is left. At the time limit, throws with the violations. Faults must have been lifted before.
 */
export async function expectInvariants(cloud: Cloud, limitMs = QUIET_LIMIT_MS): Promise<void> {
  let problems: readonly string[] = []
  try {
    await waitFor(
      'the invariants to hold',
      async () => {
        problems = problemsOf(await takeSnapshot(cloud))
        return problems.length === 0
      },
      limitMs,
    )
  } catch (error) {
    if (!isFailure(error, 'unavailable') || problems.length === 0) throw error
    throw new Error(`After ${limitMs} ms:\n  ${problems.join('\n  ')}`, { cause: error })
  }
}
