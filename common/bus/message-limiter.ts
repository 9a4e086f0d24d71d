import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'

/** The peers with the oldest messages are forgotten first. */
const PEERS_MAX = 10_000
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

interface Counts {
  second: number
  inSecond: number
  bytesInSecond: number
  loggedAt: number
  unlogged: number
}

/** Limits the messages of each peer, so that no peer takes all the time, or the disk, from the others. */
export class MessageLimiter {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #perSecond: number
  readonly #bytesPerSecond: number
  readonly #peers = new LRUCache<string, Counts>({ max: PEERS_MAX })

  /**
   * The limits of one peer: messages and bytes in a second. Messages above a limit are dropped, so senders must repeat
   * them by themselves.
   */
  constructor(
    clock: Clock,
    log: Logger,
    perSecond: number,
    bytesPerSecond = Number.POSITIVE_INFINITY,
  ) {
    this.#clock = clock
    this.#log = log
    this.#perSecond = perSecond
    this.#bytesPerSecond = bytesPerSecond
  }

  /** Counts a message of this size. False: the peer is above its limit, and the message must be dropped unread. */
  admits(peer: string, bytes = 0): boolean {
    const counts = this.#of(peer)
    const second = Math.floor(this.#clock.elapsed() / SECOND_MS)
    if (counts.second !== second) Object.assign(counts, { second, inSecond: 0, bytesInSecond: 0 })
    counts.inSecond += 1
    counts.bytesInSecond += bytes
    const { inSecond, bytesInSecond } = counts
    if (inSecond <= this.#perSecond && bytesInSecond <= this.#bytesPerSecond) return true
    this.#warn(
      peer,
      counts,
      { inSecond, bytesInSecond },
      'messages of a peer above its limit dropped',
    )
    return false
  }

  /** Logs the first dropped message of a peer in a minute, with the number of those before it that were not logged. */
  logDropped(peer: string, fields: Readonly<Record<string, unknown>>): void {
    this.#warn(peer, this.#of(peer), fields, 'invalid message of a peer dropped')
  }

  #of(peer: string): Counts {
    const known = this.#peers.get(peer)
    if (known !== undefined) return known
    const fresh = { second: 0, inSecond: 0, bytesInSecond: 0, loggedAt: -MINUTE_MS, unlogged: 0 }
    this.#peers.set(peer, fresh)
    return fresh
  }

  #warn(peer: string, counts: Counts, fields: object, message: string): void {
    const now = this.#clock.elapsed()
    if (now - counts.loggedAt < MINUTE_MS) {
      counts.unlogged += 1
      return
    }
    this.#log.warn({ peer, ...fields, unlogged: counts.unlogged }, message)
    Object.assign(counts, { loggedAt: now, unlogged: 0 })
  }
}
