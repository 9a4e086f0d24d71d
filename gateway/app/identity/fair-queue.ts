/** Who wants something done, as far as shares go. */
export interface Asker {
  /** Takes turns with other peers. */
  readonly peer: string
  /** Of all peers together, so many may wait for one account. */
  readonly account: string
}

export interface FairQueueOptions {
  readonly parallelMax: number
  readonly waitingMax: number
  readonly waitingPerAccountMax: number
  /** Made for each who is turned away. */
  readonly refusal: () => Error
}

interface Waiting {
  readonly asker: Asker
  readonly begin: () => void
  readonly refuse: () => void
}

/**
 * Runs a bounded number of tasks at a time and lets the others wait, each peer in its turn. Where all places are
 * taken, the last task of the peer with the most makes room for a peer with fewer: one peer cannot fill the queue,
 * however many tasks it sends, and may use all places while no other peer comes.
 */
export class FairQueue {
  readonly #options: FairQueueOptions
  /** In the order of their turns; none is empty. */
  readonly #byPeer = new Map<string, Waiting[]>()
  readonly #byAccount = new Map<string, number>()
  #running = 0
  #waiting = 0

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  /** The result of `work`, done in the asker's turn; rejects with the refusal when the queue is full. */
  async run<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.parallelMax) this.#running += 1
    else await this.#turn(asker)
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#next()
    }
  }

  #turn(asker: Asker): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (!this.#hasPlace(asker)) return Promise.reject(this.#options.refusal())
    const queue = this.#byPeer.get(asker.peer) ?? []
    queue.push({ asker, begin: resolve, refuse: () => reject(this.#options.refusal()) })
    this.#byPeer.set(asker.peer, queue)
    this.#count(asker, 1)
    return promise
  }

  /** Afterwards there is a place, if there can be. */
  #hasPlace({ peer, account }: Asker): boolean {
    const { waitingMax, waitingPerAccountMax } = this.#options
    if ((this.#byAccount.get(account) ?? 0) >= waitingPerAccountMax) return false
    if (this.#waiting < waitingMax) return true
    const longest = [...this.#byPeer.values()].reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length <= (this.#byPeer.get(peer)?.length ?? 0) + 1) return false
    const last = longest.pop()!
    this.#count(last.asker, -1)
    last.refuse()
    return true
  }

  #next(): void {
    const [first] = this.#byPeer
    if (first === undefined) return
    const [peer, queue] = first
    const { asker, begin } = queue.shift()!
    // Behind the others, for its next turn.
    this.#byPeer.delete(peer)
    if (queue.length > 0) this.#byPeer.set(peer, queue)
    this.#count(asker, -1)
    this.#running += 1
    begin()
  }

  #count({ account }: Asker, by: 1 | -1): void {
    this.#waiting += by
    const waiting = (this.#byAccount.get(account) ?? 0) + by
    if (waiting === 0) this.#byAccount.delete(account)
    else this.#byAccount.set(account, waiting)
  }
}
