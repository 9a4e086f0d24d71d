import { parentPort, workerData } from 'node:worker_threads'
import { isFailure } from '#common/errors.ts'
import type { Sample, WantedFormat } from './format.ts'
import { inspectContent } from './inspect.ts'

/** The input of this thread, and its only output, after which it ends. */
export interface InspectionTask {
  readonly wanted: WantedFormat
  readonly head: Uint8Array
  readonly tail: Uint8Array
  readonly sizeBytes: number
}
export type InspectionAnswer = { readonly virtualSizeBytes: number } | { readonly refused: string }

const { wanted, head, tail, sizeBytes } = workerData as InspectionTask
const sample: Sample = { head: Buffer.from(head), tail: Buffer.from(tail), sizeBytes }
parentPort?.postMessage(answer())

function answer(): InspectionAnswer {
  try {
    return { virtualSizeBytes: inspectContent(wanted, sample) }
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    return { refused: error.message }
  }
}
