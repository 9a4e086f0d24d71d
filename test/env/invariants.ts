import { isFailure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Cloud } from './cloud.ts'
import { problemsOf } from './invariants/problems.ts'
import { takeSnapshot } from './invariants/snapshot.ts'

const QUIET_LIMIT_MS = 30_000

/**
 * Waits until nothing goes on in the cloud and every invariant of the design holds: each server in one cell and on
 * one host, allocations as the servers, quota as promised, no saga open, nothing left of what was deleted. Throws
 * with what does not hold at the limit. Faults must have been lifted before.
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
