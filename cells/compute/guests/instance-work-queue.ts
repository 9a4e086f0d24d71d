import { type Clock, WOKEN } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId, OperationId, VolumeId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { OperationMemory } from './operation-memory.ts'

/** One piece of work on one instance, or on one volume. It settles with an answer, or throws when its outcome is unknown. */
export interface Job {
  readonly operation: OperationId
  readonly subject: InstanceId | VolumeId
  /** It does not wait for what has a lower rank: it ends that. */
  readonly rank: Rank
  readonly run: (signal: AbortSignal) => Promise<HostAnswer>
}

/** `takingOver`: work that leaves the guest in one state and may interrupt other work. `last`: destroys the guest or volume. */
export const RANKS = { ordinary: 0, takingOver: 1, last: 2 } as const
export type Rank = (typeof RANKS)[keyof typeof RANKS]

interface Running {
  readonly answer: Promise<HostAnswer>
  readonly abort: AbortController
  readonly rank: Rank
}

/**
 * Runs jobs one after the other per instance and per volume, and each operation once: asking again joins the running job, or gets
 * the answer it gave, which the memory has. A job whose outcome is unknown is not remembered: asking again runs it again.
 */
export class InstanceWorkQueue implements AsyncDisposable {
  readonly #clock: Clock
  readonly #memory: OperationMemory
  readonly #log: Logger
  /** Those that have not ended. */
  readonly #byOperation = new Map<OperationId, Running>()
  /** The unfinished work on each, in order. */
  readonly #queues = new Map<Job['subject'], Running[]>()
  readonly #stop = new AbortController()

  constructor(clock: Clock, memory: OperationMemory, log: Logger) {
    this.#clock = clock
    this.#memory = memory
    this.#log = log
  }

  /** The job's answer, or 'working' when it takes longer than `waitMs`. */
  async ask(job: Job, waitMs: number): Promise<HostAnswer> {
    const known = this.#memory.answerOf(job.operation)
    if (known !== undefined) return known
    const running = this.#byOperation.get(job.operation) ?? this.#begin(job)
    const waiting = new AbortController()
    const working = this.#clock.sleep(waitMs, waiting.signal).then(
      (): HostAnswer => ({ state: 'working' }),
      () => running.answer,
    )
    return Promise.race([running.answer, working]).finally(() => waiting.abort(WOKEN))
  }

  /** How many jobs run, and how many wait for another job on their instance or volume. */
  get depth(): { readonly running: number; readonly waiting: number } {
    const running = this.#queues.size
    return { running, waiting: this.#byOperation.size - running }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([...this.#queues.values()].flat().map(({ answer }) => answer))
  }

  #begin(job: Job): Running {
    const queue = this.#queues.get(job.subject) ?? []
    const before = queue.at(-1)
    for (const running of queue) if (running.rank < job.rank) running.abort.abort()
    const abort = new AbortController()
    const signal = AbortSignal.any([abort.signal, this.#stop.signal])
    const start = async () => {
      if (signal.aborted)
        throw new Failure(
          'unavailable',
          'The work was cancelled before it began: the host is stopping, or a newer request replaced it.',
        )
      return this.#remembered(job, await job.run(signal))
    }
    const answer = (before?.answer ?? Promise.resolve()).then(start, start)
    const running: Running = { answer, abort, rank: job.rank }
    this.#byOperation.set(job.operation, running)
    queue.push(running)
    this.#queues.set(job.subject, queue)
    void answer.catch(() => {}).finally(() => this.#leave(job, queue))
    return running
  }

  /** The outcome is answered even if a full disk does not take its record. */
  async #remembered({ operation, rank }: Job, answer: HostAnswer): Promise<HostAnswer> {
    // The cell repeats a destroy until it is done.
    if (rank === RANKS.last && answer.state === 'failed') return answer
    await this.#memory.keep(operation, answer).catch((error: unknown) => {
      this.#log.error({ operation, ...errorFields(error) }, 'operation done and not remembered')
    })
    return answer
  }

  /** The first has ended: they run in the order of the queue. */
  #leave({ subject, operation }: Job, queue: Running[]): void {
    queue.shift()
    if (queue.length === 0) this.#queues.delete(subject)
    this.#byOperation.delete(operation)
  }
}
