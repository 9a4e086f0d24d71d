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
/** A thread takes ten megabytes. */
const IDLE_MS = 30_000
const WORKER = new URL('inspection-worker.ts', import.meta.url)
const gate = pLimit(PARALLEL_MAX)
/** Threads that wait for work, by what they run: to start one takes a hundred times as long as to look into a content. */
const idle = new Map<string, Idle[]>()

interface Idle {
  readonly thread: Worker
  readonly timer: NodeJS.Timeout
}

/**
 * Like `inspectContent`, in another thread, which is ended at a deadline: the gateway keeps serving, even if a content
 * makes the inspection hang. Throws `invalid` for a content that takes longer.
 */
export function inspectInWorker(
  wanted: WantedFormat,
  { head, tail, sizeBytes }: Sample,
  worker: URL = WORKER,
  deadlineMs = DEADLINE_MS,
): Promise<number> {
  return gate(async () => {
    const thread = threadFor(worker)
    const answer = await withDeadline(
      deadlineMs,
      answerOf(thread, { wanted, head, tail, sizeBytes }),
      () => unacceptable(wanted === 'any' ? 'disk' : wanted, 'looking into it takes too long'),
    ).catch(async (error: unknown) => {
      await thread.terminate()
      throw error
    })
    keep(worker, thread)
    if ('refused' in answer) throw new Failure('invalid', answer.refused)
    return answer.virtualSizeBytes
  })
}

/** One that waits, or a new one. */
function threadFor({ href }: URL): Worker {
  const waiting = idle.get(href)?.pop()
  if (waiting !== undefined) {
    clearTimeout(waiting.timer)
    waiting.thread.ref()
    return waiting.thread
  }
  const thread = new Worker(new URL(href))
  // One that has ended by itself is given no further content.
  thread.on('error', () => forget(href, thread)).on('exit', () => forget(href, thread))
  return thread
}

/** Afterwards the thread waits for the next content, for a while. It holds up no program that ends. */
function keep({ href }: URL, thread: Worker): void {
  const end = () => {
    forget(href, thread)
    void thread.terminate()
  }
  thread.unref()
  const waiting = { thread, timer: setTimeout(end, IDLE_MS).unref() }
  idle.set(href, [...(idle.get(href) ?? []), waiting])
}

function forget(href: string, thread: Worker): void {
  idle.set(href, idle.get(href)?.filter((each) => each.thread !== thread) ?? [])
}

async function answerOf(thread: Worker, task: InspectionTask): Promise<InspectionAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<InspectionAnswer>()
  const ended = () => reject(new Error('The inspection of an image ended without an answer'))
  thread.once('message', resolve).once('error', reject).once('exit', ended)
  try {
    thread.postMessage(task)
    return await promise
  } finally {
    thread.off('message', resolve).off('error', reject).off('exit', ended)
  }
}
