import { parentPort } from 'node:worker_threads'
import { isFailure } from '#common/errors.ts'
import type { Sample, WantedFormat } from './format.ts'
import { inspectContent } from './inspect.ts'

/** What this thread is given, one after the other; it answers each. */
export interface InspectionTask {
  readonly wanted: WantedFormat
  readonly head: Uint8Array
  readonly tail: Uint8Array
  readonly sizeBytes: number
}
export type InspectionAnswer = { readonly virtualSizeBytes: number } | { readonly refused: string }

parentPort?.on('message', (task: InspectionTask) => parentPort?.postMessage(answerTo(task)))

function answerTo({ wanted, head, tail, sizeBytes }: InspectionTask): InspectionAnswer {
  const sample: Sample = { head: Buffer.from(head), tail: Buffer.from(tail), sizeBytes }
  try {
    return { virtualSizeBytes: inspectContent(wanted, sample) }
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    return { refused: error.message }
  }
}
