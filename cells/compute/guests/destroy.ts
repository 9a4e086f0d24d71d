import type { InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { answerOf } from '../answer.ts'
import type { Compute } from '../compute.ts'
import { RANKS } from './instance-work-queue.ts'

/**
 * Afterwards nothing of the instance is here, and this attempt will never be built here again: a spawn that is
 * still on its way comes too late.
 */
export function destroy(compute: Compute, operation: OperationRef): Promise<HostAnswer> {
  const { attempts, driver, log, metadata, workQueue, answerWithinMs } = compute
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined && newer > operation.attempt) return { state: 'stale', attempt: newer }
    await attempts.finish(id, operation.attempt)
    return answerOf(
      async () => {
        await driver.destroy(id, signal)
        await metadata?.remove(id)
        return { state: 'done', powerState: POWER_STATES.nostate }
      },
      signal,
      log.child({ server_id: id }),
    )
  }
  const job = { operation: operation.id as OperationId, subject: id, rank: RANKS.last, run }
  return workQueue.ask(job, answerWithinMs)
}
