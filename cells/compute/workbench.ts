import { type Clock, WOKEN } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId, OperationId } from '#common/ids.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'

/** One piece of work on one instance. It settles with an answer, or throws when its outcome is unknown. */
export interface Job {
  readonly operation: OperationId
  readonly instance: InstanceId
  /** It does not wait for what has a lower rank: it ends that. */
  readonly rank: Rank
  readonly run: (signal: AbortSignal) => Promise<HostAnswer>
}

/** `takingOver`: leaves the guest in one state, whatever was begun before. `last`: destroys it. */
export const RANKS = { ordinary: 0, takingOver: 1, last: 2 } as const
export type Rank = (typeof RANKS)[keyof typeof RANKS]

interface Running {
  readonly answer: Promise<HostAnswer>
  readonly abort: AbortController
  readonly rank: Rank
}

const REMEMBERED_MAX = 10_000

/**
 * Runs jobs one after the other per instance, and each operation once: asking again joins the running job, or gets
 * the answer it gave. A job whose outcome is unknown is forgotten, so that asking again runs it again.
 */
export class Workbench implements AsyncDisposable {
  readonly #clock: Clock
  readonly #byOperation = new Map<OperationId, Running>()
  /** What is asked of each instance and has not ended, in order. */
  readonly #queues = new Map<InstanceId, Running[]>()
  readonly #stop = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The job's answer, or 'working' when it takes longer than `waitMs`. */
  async ask(job: Job, waitMs: number): Promise<HostAnswer> {
    const running = this.#byOperation.get(job.operation) ?? this.#begin(job)
    const patience = new AbortController()
    const working = this.#clock.sleep(waitMs, patience.signal).then(
      (): HostAnswer => ({ state: 'working' }),
      () => running.answer,
    )
    return Promise.race([running.answer, working]).finally(() => patience.abort(WOKEN))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([...this.#queues.values()].flat().map(({ answer }) => answer))
  }

  #begin(job: Job): Running {
    const queue = this.#queues.get(job.instance) ?? []
    const before = queue.at(-1)
    for (const running of queue) if (running.rank < job.rank) running.abort.abort()
    const abort = new AbortController()
    const signal = AbortSignal.any([abort.signal, this.#stop.signal])
    const start = () => {
      if (signal.aborted) throw new Failure('unavailable', 'The work was cut short.')
      return job.run(signal)
    }
    const answer = (before?.answer ?? Promise.resolve()).then(start, start)
    const running: Running = { answer, abort, rank: job.rank }
    this.#byOperation.set(job.operation, running)
    queue.push(running)
    this.#queues.set(job.instance, queue)
    void answer
      .catch(() => this.#byOperation.delete(job.operation))
      .finally(() => this.#leave(job.instance, queue))
    return running
  }

  /** The first has ended: they run in the order of the queue. */
  #leave(instance: InstanceId, queue: Running[]): void {
    queue.shift()
    if (queue.length === 0) this.#queues.delete(instance)
    this.#forgetOldest()
  }

  /** A Map keeps insertion order, so its first entries are the oldest; running ones are few and young. */
  #forgetOldest(): void {
    for (const operation of this.#byOperation.keys()) {
      if (this.#byOperation.size <= REMEMBERED_MAX) return
      this.#byOperation.delete(operation)
    }
  }
}
