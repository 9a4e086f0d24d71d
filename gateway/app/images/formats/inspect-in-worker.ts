import { Worker } from 'node:worker_threads'
import pLimit from 'p-limit'
import { Failure } from '#common/errors.ts'
import { withDeadline } from '#common/with-deadline.ts'
import type { Sample, WantedFormat } from './format.ts'
import type { InspectionAnswer, InspectionTask } from './inspection-worker.ts'
import { unacceptable } from './refuse.ts'

/** A thousand times what it takes. */
const DEADLINE_MS = 10_000
const PARALLEL_MAX = 2
const WORKER = new URL('inspection-worker.ts', import.meta.url)
const gate = pLimit(PARALLEL_MAX)

/**
 * Like `inspectContent`, in a thread of its own that is ended at a deadline: the gateway keeps serving, even if a
 * content makes the inspection hang. Throws `invalid` for a content that takes longer.
 */
export function inspectInWorker(
  wanted: WantedFormat,
  { head, tail, sizeBytes }: Sample,
  worker: URL = WORKER,
  deadlineMs = DEADLINE_MS,
): Promise<number> {
  return gate(async () => {
    const workerData: InspectionTask = { wanted, head, tail, sizeBytes }
    const thread = new Worker(worker, { workerData })
    try {
      const answer = await withDeadline(deadlineMs, answerOf(thread), () =>
        unacceptable(wanted === 'any' ? 'disk' : wanted, 'looking into it takes too long'),
      )
      if ('refused' in answer) throw new Failure('invalid', answer.refused)
      return answer.virtualSizeBytes
    } finally {
      await thread.terminate()
    }
  })
}

function answerOf(thread: Worker): Promise<InspectionAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<InspectionAnswer>()
  thread.once('message', resolve)
  thread.once('error', reject)
  thread.once('exit', () => reject(new Error('The inspection of an image ended without an answer')))
  return promise
}
