/**
 * Handles messages, one at a time per key, such as a host. Further messages wait, up to a number per key; above that the
 * newest replaces the oldest: a host that sends too many loses messages of its own, and of no other host.
 */
export class KeyedQueue<Key, Message> {
  readonly #work: (message: Message) => Promise<void>
  readonly #running = new Map<Key, Promise<void>>()
  readonly #waitingMax: number
  readonly #waiting = new Map<Key, Message[]>()

  /** `work` must not reject. */
  constructor(waitingMax: number, work: (message: Message) => Promise<void>) {
    this.#waitingMax = waitingMax
    this.#work = work
  }

  add(key: Key, message: Message): void {
    if (!this.#running.has(key)) {
      this.#running.set(key, this.#run(key, message))
      return
    }
    const waiting = [...(this.#waiting.get(key) ?? []), message]
    this.#waiting.set(key, waiting.slice(-this.#waitingMax))
  }

  /** Drops waiting work, and resolves once no work is running. */
  async end(): Promise<void> {
    this.#waiting.clear()
    await Promise.all(this.#running.values())
  }

  async #run(key: Key, first: Message): Promise<void> {
    let message: Message | undefined = first
    while (message !== undefined) {
      await this.#work(message)
      const [next, ...rest] = this.#waiting.get(key) ?? []
      if (rest.length > 0) this.#waiting.set(key, rest)
      else this.#waiting.delete(key)
      message = next
    }
    this.#running.delete(key)
  }
}
