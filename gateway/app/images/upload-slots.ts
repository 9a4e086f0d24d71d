import type { Clock } from '#common/clock.ts'
import { settledWithin } from '#common/settled-within.ts'
import { TooManyRequests } from '../request-limiter.ts'

export interface UploadLimits {
  /** Of this gateway at a time. */
  readonly max: number
  /** Of these, those of one project. */
  readonly projectMax: number
}

/** Small uploads make room for each other within this time. */
const WAIT_MS = 2_000
/** So many wait for each one that may be under way; further ones are refused at once. */
const WAITING_RATIO = 4
/** It is unknown when a client will have sent everything. */
const RETRY_AFTER_MS = 5_000

interface Waiter {
  readonly projectId: string
  readonly admit: (isAdmitted: true) => void
}

/**
 * How many uploads a gateway takes at a time: each holds memory, a connection to the store and a share of the link for as
 * long as its client likes. Further ones wait for a moment, before a byte of them is read, and are then refused.
 */
export class UploadSlots {
  readonly #limits: UploadLimits
  readonly #clock: Clock
  readonly #taken = new Map<string, number>()
  /** In the order they came. */
  readonly #waiting = new Set<Waiter>()
  #all = 0

  constructor(limits: UploadLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Takes a slot for a project until the result is disposed. Throws `TooManyRequests` where none gets free soon. */
  async take(projectId: string): Promise<Disposable> {
    if (this.#hasRoom(projectId)) this.#count(projectId, 1)
    else if (!(await this.#isAdmitted(projectId))) throw this.#refusal(projectId)
    return {
      [Symbol.dispose]: () => {
        this.#count(projectId, -1)
        this.#admitNext()
      },
    }
  }

  async #isAdmitted(projectId: string): Promise<boolean> {
    if (this.#waiting.size >= WAITING_RATIO * this.#limits.max) return false
    const { promise, resolve: admit } = Promise.withResolvers<true>()
    const waiter = { projectId, admit }
    this.#waiting.add(waiter)
    const isInTime = await settledWithin(this.#clock, WAIT_MS, promise)
    // One that was admitted as its time ended is no longer among them, and has its slot.
    return isInTime ?? !this.#waiting.delete(waiter)
  }

  /** The first that waits and whose project may have one more. */
  #admitNext(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.projectId)) continue
      this.#waiting.delete(waiter)
      this.#count(waiter.projectId, 1)
      waiter.admit(true)
      return
    }
  }

  #hasRoom(projectId: string): boolean {
    const { max, projectMax } = this.#limits
    return this.#all < max && (this.#taken.get(projectId) ?? 0) < projectMax
  }

  #count(projectId: string, change: 1 | -1): void {
    this.#all += change
    const taken = (this.#taken.get(projectId) ?? 0) + change
    if (taken > 0) this.#taken.set(projectId, taken)
    else this.#taken.delete(projectId)
  }

  #refusal(projectId: string): TooManyRequests {
    const { max, projectMax } = this.#limits
    const isOwn = (this.#taken.get(projectId) ?? 0) >= projectMax
    const taken = isOwn ? `${projectMax} uploads of this project` : `${max} uploads`
    const message = `This gateway already takes ${taken}. Please try again when one has ended.`
    return new TooManyRequests(message, RETRY_AFTER_MS)
  }
}
