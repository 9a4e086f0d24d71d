import { type Bound, VALUES_TOGETHER_MAX } from './compound.ts'

/** Runs transactions as one and commits it. False: one failed, and nothing of any is there. */
export type Carry = (transactions: readonly (readonly Bound[])[]) => Promise<boolean>

/** A transaction that is known whole before it begins. */
export interface Passenger {
  readonly parts: readonly Bound[]
  /** Runs and commits it by itself. */
  readonly alone: () => Promise<void>
}

interface Waiting extends Passenger {
  readonly arrived: PromiseWithResolvers<void>
}

interface Line {
  waiting: Waiting[]
  underWay: number
}

/** More gain little by sharing a commit, and lose more when one of them fails. */
const PASSENGERS_MAX = 8
/** Nobody waits longer for those before: they may be waiting for a lock that has nothing to do with the others. */
const PATIENCE_MS = 20

/**
 * Lets transactions of one shape that come in one turn of the event loop, or while others of it are under way, go
 * together in one, with one commit. One that comes alone when none is under way leaves at the end of the turn, so nobody
 * waits who would gain nothing. When a train fails, each of its passengers goes alone.
 */
export class Trains {
  readonly #carry: Carry
  readonly #lines = new Map<string, Line>()

  constructor(carry: Carry) {
    this.#carry = carry
  }

  /** Afterwards the transaction has committed; fails as it does alone. */
  ride(passenger: Passenger): Promise<void> {
    const shape = shapeOf(passenger.parts)
    const line = this.#lines.get(shape) ?? { waiting: [], underWay: 0 }
    this.#lines.set(shape, line)
    const arrived = Promise.withResolvers<void>()
    line.waiting.push({ ...passenger, arrived })
    if (line.waiting.length === 1) {
      if (line.underWay === 0) this.#departAfterTurn(shape, line)
      else setTimeout(() => this.#depart(shape, line), PATIENCE_MS).unref()
    }
    return arrived.promise
  }

  #departAfterTurn(shape: string, line: Line): void {
    setImmediate(() => this.#depart(shape, line))
  }

  #depart(shape: string, line: Line): void {
    while (line.waiting.length > 0) {
      line.underWay += 1
      void this.#travel(line.waiting.splice(0, sizeFor(line.waiting))).finally(() => {
        line.underWay -= 1
        if (line.underWay > 0) return
        if (line.waiting.length === 0) this.#lines.delete(shape)
        else this.#departAfterTurn(shape, line)
      })
    }
  }

  async #travel(passengers: readonly Waiting[]): Promise<void> {
    try {
      const isCarried =
        passengers.length > 1 && (await this.#carry(passengers.map(({ parts }) => parts)))
      for (const { arrived, alone } of passengers) arrived.resolve(isCarried ? undefined : alone())
    } catch (error) {
      for (const { arrived } of passengers) arrived.reject(error)
    }
    await Promise.allSettled(passengers.map(({ arrived }) => arrived.promise))
  }
}

/** How many of those that wait go together. */
function sizeFor(waiting: readonly Waiting[]): number {
  const values = waiting[0]!.parts.reduce((sum, part) => sum + part.values.length, 0)
  const together = Math.floor(VALUES_TOGETHER_MAX / Math.max(values, 1))
  return Math.max(1, Math.min(waiting.length, PASSENGERS_MAX, together))
}

/** The same for the same statements in the same order. */
function shapeOf(parts: readonly Bound[]): string {
  return parts.map(({ text, expected }) => (expected === undefined ? text : `!${text}`)).join(';')
}
