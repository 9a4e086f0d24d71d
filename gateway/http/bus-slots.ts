import { Failure } from '#common/errors.ts'

export interface SlotLimits {
  /** Connections that have not shown yet whose they are, from one address. */
  readonly strangersPerAddress: number
  /** The same from all of them. */
  readonly strangers: number
  /** Connections with one credential: that of a host or of a cell's bus, which need one each. */
  readonly perCredential: number
}

/** A site behind one address may have every host of a cell redial at once. */
const LIMITS: SlotLimits = { strangersPerAddress: 128, strangers: 1_024, perCredential: 4 }

/** One connection's place. Disposing it gives the place back. */
export interface BusSlot extends Disposable {
  /**
   * Afterwards the connection counts for this credential alone. Throws `unauthenticated` where the credential has as
   * many as it may.
   */
  admit(credential: string): void
}

/** How many connections to the bus are open here, and whose: so that no peer takes the place of the others. */
export class BusSlots {
  readonly #limits: SlotLimits
  readonly #strangers = new Counts()
  readonly #credentials = new Counts()

  constructor(limits: SlotLimits = LIMITS) {
    this.#limits = limits
  }

  /** A place for a connection from this address, of which it is not known whose it is; undefined: there is none. */
  take(address: string = 'a proxy'): BusSlot | undefined {
    const { strangersPerAddress, strangers } = this.#limits
    if (this.#strangers.total >= strangers) return undefined
    if (address !== 'a proxy' && this.#strangers.of(address) >= strangersPerAddress)
      return undefined
    let release = this.#strangers.add(address)
    return {
      admit: (credential) => {
        if (this.#credentials.of(credential) >= this.#limits.perCredential)
          throw new Failure('unauthenticated', 'This credential has too many connections already.')
        release()
        release = this.#credentials.add(credential)
      },
      [Symbol.dispose]: () => release(),
    }
  }
}

class Counts {
  readonly #counts = new Map<string, number>()
  total = 0

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Returns how to take it back, which may be called again. */
  add(key: string): () => void {
    this.total += 1
    this.#counts.set(key, this.of(key) + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.total -= 1
      const left = this.of(key) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }
}
