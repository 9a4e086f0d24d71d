import { workerData } from 'node:worker_threads'

// A thread of an isolated process: it looks while the process itself may loop for ever.

const CHECK_MS = 100
const MEBIBYTE = 2 ** 20

/** The limits of the process. */
export interface GuardTerms {
  readonly parent: number
  readonly memoryMaxMb: number
}

const { parent, memoryMaxMb } = workerData as GuardTerms

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  // As V8 does it once its heap is full.
  if (process.memoryUsage.rss() > memoryMaxMb * MEBIBYTE) process.kill(process.pid, 'SIGABRT')
}, CHECK_MS)
