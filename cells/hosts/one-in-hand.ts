/**
 * Handles the messages of hosts, one at a time per host. Messages that come meanwhile wait, up to a number per host;
 * above that the newest takes the place of the oldest: a host that sends too many loses messages of its own, and of
 * no other host.
 */
export class OneInHand<Key, Word> {
  readonly #work: (word: Word) => Promise<void>
  readonly #inHand = new Map<Key, Promise<void>>()
  readonly #waitingMax: number
  readonly #waiting = new Map<Key, Word[]>()

  /** `work` must not reject. */
  constructor(waitingMax: number, work: (word: Word) => Promise<void>) {
    this.#waitingMax = waitingMax
    this.#work = work
  }

  take(key: Key, word: Word): void {
    if (!this.#inHand.has(key)) {
      this.#inHand.set(key, this.#run(key, word))
      return
    }
    const waiting = [...(this.#waiting.get(key) ?? []), word]
    this.#waiting.set(key, waiting.slice(-this.#waitingMax))
  }

  /** Drops waiting work, and resolves once no work is running. */
  async end(): Promise<void> {
    this.#waiting.clear()
    await Promise.all(this.#inHand.values())
  }

  async #run(key: Key, first: Word): Promise<void> {
    let word: Word | undefined = first
    while (word !== undefined) {
      await this.#work(word)
      const [next, ...rest] = this.#waiting.get(key) ?? []
      if (rest.length > 0) this.#waiting.set(key, rest)
      else this.#waiting.delete(key)
      word = next
    }
    this.#inHand.delete(key)
  }
}
