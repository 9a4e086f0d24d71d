/** Who wants something done, as far as shares go. */
export interface QueueClient {
  /** Takes turns with other peers. */
  readonly peer: string
  /** Of all peers together, so many may wait for one account. */
  readonly account: string
}

export interface FairQueueOptions {
  readonly parallelMax: number
  /** Of these, how many of one peer; absent: all. */
  readonly parallelPerPeerMax?: number
  readonly waitingMax: number
  readonly waitingPerAccountMax: number
  /** Made for each who is turned away. */
  readonly refusal: () => Error
}

/** A task in the queue. */
export interface Waiting {
  /** Its place among the tasks that run; rejects when it must leave. */
  readonly turn: Promise<Disposable>
  /** Takes the task out of the queue, and rejects its turn with the error; false if it has had its turn or left. */
  leave(error: Error): boolean
}

interface Entry {
  readonly asker: QueueClient
  readonly begin: (place: Disposable) => void
  readonly refuse: (error: Error) => void
}

/**
 * Runs a bounded number of tasks at a time and lets the others wait, each peer in its turn. Where all places are
 * taken, the last task of the peer with the most makes room for a peer with fewer: one peer cannot fill the queue,
 * however many tasks it sends, and may use all places while no other peer comes.
 */
export class FairQueue {
  readonly #options: FairQueueOptions
  readonly #perPeerMax: number
  /** In the order of their turns; none is empty. */
  readonly #byPeer = new Map<string, Entry[]>()
  readonly #byAccount = new Map<string, number>()
  /** How many tasks of each peer run. */
  readonly #runningOf = new Map<string, number>()
  #running = 0
  #waiting = 0

  constructor(options: FairQueueOptions) {
    this.#options = options
    this.#perPeerMax = options.parallelPerPeerMax ?? options.parallelMax
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  /** The result of `work`, done in the asker's turn; rejects with the refusal when the queue is full. */
  async run<T>(asker: QueueClient, work: () => Promise<T>): Promise<T> {
    using _place = this.takeNow(asker) ?? (await this.wait(asker).turn)
    return await work()
  }

  /** A place among the tasks that run, until it is disposed; undefined if the asker must wait. */
  takeNow({ peer }: QueueClient): Disposable | undefined {
    return this.#mayRun(peer) ? this.#begun(peer) : undefined
  }

  /** Queues a task. Throws the refusal where the queue is full. */
  wait(asker: QueueClient): Waiting {
    if (!this.hasPlace(asker)) throw this.#options.refusal()
    if (this.#waiting >= this.#options.waitingMax) this.#turnAwayOne()
    const { promise: turn, resolve: begin, reject: refuse } = Promise.withResolvers<Disposable>()
    const entry: Entry = { asker, begin, refuse }
    const queue = this.#byPeer.get(asker.peer) ?? []
    queue.push(entry)
    this.#byPeer.set(asker.peer, queue)
    this.#count(asker, 1)
    return { turn, leave: (error) => this.#leave(entry, error) }
  }

  /** True if a task of the asker would run or wait now. */
  hasPlace({ peer, account }: QueueClient): boolean {
    if (this.#mayRun(peer)) return true
    const { waitingMax, waitingPerAccountMax } = this.#options
    if ((this.#byAccount.get(account) ?? 0) >= waitingPerAccountMax) return false
    if (this.#waiting < waitingMax) return true
    return this.#longest().length > (this.#byPeer.get(peer)?.length ?? 0) + 1
  }

  #mayRun(peer: string): boolean {
    if (this.#running >= this.#options.parallelMax) return false
    return (this.#runningOf.get(peer) ?? 0) < this.#perPeerMax
  }

  #begun(peer: string): Disposable {
    this.#running += 1
    this.#runningOf.set(peer, (this.#runningOf.get(peer) ?? 0) + 1)
    return {
      [Symbol.dispose]: () => {
        this.#running -= 1
        const left = this.#runningOf.get(peer)! - 1
        if (left === 0) this.#runningOf.delete(peer)
        else this.#runningOf.set(peer, left)
        this.#next()
      },
    }
  }

  #next(): void {
    for (const [peer, queue] of this.#byPeer) {
      if (!this.#mayRun(peer)) continue
      const { asker, begin } = queue.shift()!
      // Behind the others, for its next turn.
      this.#byPeer.delete(peer)
      if (queue.length > 0) this.#byPeer.set(peer, queue)
      this.#count(asker, -1)
      begin(this.#begun(peer))
      return
    }
  }

  #longest(): Entry[] {
    return [...this.#byPeer.values()].reduce((a, b) => (b.length > a.length ? b : a))
  }

  #turnAwayOne(): void {
    const last = this.#longest().pop()!
    this.#count(last.asker, -1)
    last.refuse(this.#options.refusal())
  }

  #leave(entry: Entry, error: Error): boolean {
    const { peer } = entry.asker
    const queue = this.#byPeer.get(peer)
    const place = queue?.indexOf(entry) ?? -1
    if (queue === undefined || place === -1) return false
    queue.splice(place, 1)
    if (queue.length === 0) this.#byPeer.delete(peer)
    this.#count(entry.asker, -1)
    entry.refuse(error)
    return true
  }

  #count({ account }: QueueClient, by: 1 | -1): void {
    this.#waiting += by
    const waiting = (this.#byAccount.get(account) ?? 0) + by
    if (waiting === 0) this.#byAccount.delete(account)
    else this.#byAccount.set(account, waiting)
  }
}
