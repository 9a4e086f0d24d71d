import { BATCH_VALUES_MAX, type Bound } from './compound.ts'

/** Runs transactions as one and commits it. False: one failed, and nothing of any of them is there. */
export type RunBatch = (transactions: readonly (readonly Bound[])[]) => Promise<boolean>

/** A transaction that is known whole before it begins. */
export interface Entry {
  readonly parts: readonly Bound[]
  /** Runs and commits it by itself. */
  readonly alone: () => Promise<void>
}

interface Waiting extends Entry {
  readonly committed: PromiseWithResolvers<void>
}

/** Of one shape: what waits, and how many batches run. */
interface Queue {
  waiting: Waiting[]
  running: number
}

/** More gain little by sharing a commit, and lose more when one of them fails. */
const ENTRIES_MAX = 8
/** No entry waits longer for a batch that runs: that one may wait for a lock that the entry does not need. */
const WAIT_MAX_MS = 20

/**
 * Group commit: transactions of one shape that come in one turn of the event loop, or while others of that shape run,
 * run as one transaction with one commit. One that comes alone while none runs begins at the end of the turn, so that
 * nothing waits that would gain nothing. Where a batch fails, each of its entries runs alone.
 */
export class GroupCommit {
  readonly #runBatch: RunBatch
  readonly #queues = new Map<string, Queue>()

  constructor(runBatch: RunBatch) {
    this.#runBatch = runBatch
  }

  /** Afterwards the transaction has committed; fails as it does alone. */
  commit(entry: Entry): Promise<void> {
    const shape = shapeOf(entry.parts)
    const queue = this.#queues.get(shape) ?? { waiting: [], running: 0 }
    this.#queues.set(shape, queue)
    const committed = Promise.withResolvers<void>()
    queue.waiting.push({ ...entry, committed })
    if (queue.waiting.length === 1) {
      if (queue.running === 0) this.#beginAfterTurn(shape, queue)
      else setTimeout(() => this.#begin(shape, queue), WAIT_MAX_MS).unref()
    }
    return committed.promise
  }

  #beginAfterTurn(shape: string, queue: Queue): void {
    setImmediate(() => this.#begin(shape, queue))
  }

  #begin(shape: string, queue: Queue): void {
    while (queue.waiting.length > 0) {
      queue.running += 1
      void this.#run(queue.waiting.splice(0, sizeFor(queue.waiting))).finally(() => {
        queue.running -= 1
        if (queue.running > 0) return
        if (queue.waiting.length === 0) this.#queues.delete(shape)
        else this.#beginAfterTurn(shape, queue)
      })
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    try {
      const isCommitted =
        batch.length > 1 && (await this.#runBatch(batch.map(({ parts }) => parts)))
      for (const { committed, alone } of batch) committed.resolve(isCommitted ? undefined : alone())
    } catch (error) {
      for (const { committed } of batch) committed.reject(error)
    }
    await Promise.allSettled(batch.map(({ committed }) => committed.promise))
  }
}

/** How many of those that wait run together. */
function sizeFor(waiting: readonly Waiting[]): number {
  const values = waiting[0]!.parts.reduce((sum, part) => sum + part.values.length, 0)
  const together = Math.floor(BATCH_VALUES_MAX / Math.max(values, 1))
  return Math.max(1, Math.min(waiting.length, ENTRIES_MAX, together))
}

/** The same for the same statements in the same order. */
function shapeOf(parts: readonly Bound[]): string {
  return parts.map(({ text, expected }) => (expected === undefined ? text : `!${text}`)).join(';')
}
