import { abortable } from './abortable.ts'

/** Work under one key runs one after the other, in the order asked for; keys do not wait for each other. */
export class KeyedLock<Key> {
  readonly #tails = new Map<Key, Promise<unknown>>()

  /** True while work under the key runs or waits. */
  isHeld(key: Key): boolean {
    return this.#tails.has(key)
  }

  /** Throws the signal's reason when it aborts before the turn comes; afterwards the work decides. */
  async run<T>(key: Key, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const { promise: turnEnded, resolve: endTurn } = Promise.withResolvers<void>()
    const tail = before.then(() => turnEnded)
    this.#tails.set(key, tail)
    try {
      await abortable(before, signal)
      signal.throwIfAborted()
      return await work()
    } finally {
      endTurn()
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }
}
