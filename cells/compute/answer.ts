import { currentWork } from '#common/current-work.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { storageFailure } from '#drivers/storage-failure.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'

/**
 * The answer on the wire for a driver's work. An expected failure, a full disk among them, is an answer. `unavailable`,
 * an abort and a bug leave the outcome unknown and are thrown, so that the cell asks again.
 */
export async function answerOf(
  work: () => Promise<HostAnswer>,
  signal: AbortSignal,
  log: Logger,
): Promise<HostAnswer> {
  try {
    return await work()
  } catch (thrown) {
    const error = storageFailure(thrown)
    if (signal.aborted)
      throw new Failure(
        'unavailable',
        'The work was cancelled before its end: the host is stopping, or a newer request replaced it.',
        { cause: error },
      )
    if (isFailure(error, 'unavailable')) throw error
    const isExpected = isFailure(error) && error.kind !== 'internal'
    const fields = { request_id: currentWork()?.requestId, ...errorFields(error) }
    log[isExpected ? 'info' : 'error'](fields, 'work on an instance failed')
    if (!isFailure(error)) throw error
    const { kind, message, detail } = error
    return { state: 'failed', kind, message, ...(detail !== undefined && { detail }) }
  }
}
