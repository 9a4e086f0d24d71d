import { Failure } from '../errors.ts'
import type { HasCommitted, Transactional } from './database.ts'
import { isAway, isWithoutEffect } from './retry.ts'

/** A transaction whose commit was sent and not answered. */
interface Unanswered<T> {
  readonly hasCommitted: HasCommitted
  /** Gives the result of the transaction, which has committed. */
  readonly committed: () => T
}

/** Whether the transaction has committed is not known: the connection ended under its commit. */
export class CommitUnknown<T> extends Failure {
  readonly unanswered: Unanswered<T>

  constructor(cause: unknown, unanswered: Unanswered<T>) {
    super('unavailable', 'The database did not answer. Please try again.', { cause })
    this.unanswered = unanswered
  }
}

/** The transaction has not committed, and did not: it may be run again. */
class NotCommitted extends Failure {
  constructor(cause: unknown) {
    super('unavailable', 'The database did not answer. Please try again.', { cause })
  }
}

/** True where nothing of the failed transaction is in the database. */
export function isRepeatable(error: unknown): boolean {
  return (
    error instanceof NotCommitted || (!(error instanceof CommitUnknown) && isWithoutEffect(error))
  )
}

const PAUSE_MS = 100
/** Where work is not repeated, the outcome of a commit is looked for all the same: a caller that got a failure could not know that the work continues. */
const ASK_MIN_MS = 5_000

/** The tries of one transaction, of which at most one commits. */
export class TransactionTries<T> {
  readonly #db: Transactional
  readonly #askMs: number
  #unanswered: Unanswered<T> | undefined

  constructor(db: Transactional, retryMs: number) {
    this.#db = db
    this.#askMs = Math.max(retryMs, ASK_MIN_MS)
  }

  /** The result of this try, or of one before whose commit has not been answered and turns out to have happened. */
  async settle(once: () => Promise<T>): Promise<T> {
    try {
      return await once()
    } catch (error) {
      if (error instanceof CommitUnknown) this.#unanswered = (error as CommitUnknown<T>).unanswered
      const unanswered = this.#unanswered
      if (unanswered === undefined) throw error
      if (await this.#isThere(unanswered.hasCommitted, error)) return unanswered.committed()
      throw error instanceof CommitUnknown ? new NotCommitted(error) : error
    }
  }

  /** Throws `unanswered` where the database does not answer in time. */
  async #isThere(hasCommitted: HasCommitted, unanswered: unknown): Promise<boolean> {
    const until = performance.now() + this.#askMs
    for (;;) {
      try {
        return await hasCommitted(this.#db)
      } catch (error) {
        if (!isAway(error)) throw error
        if (performance.now() > until) throw unanswered
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
    }
  }
}
