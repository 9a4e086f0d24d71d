import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'

/** The peers with the oldest messages are forgotten first. */
const PEERS_MAX = 10_000
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

interface Heard {
  second: number
  inSecond: number
  bytesInSecond: number
  toldAt: number
  untold: number
}

/** Limits the messages of each peer, so that no peer takes all the time, or the disk, from the others. */
export class PeersHeard {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #perSecond: number
  readonly #bytesPerSecond: number
  readonly #peers = new LRUCache<string, Heard>({ max: PEERS_MAX })

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

  /** Counts a message of so many bytes. False: this peer says too much, and it is to be dropped unread. */
  hears(peer: string, bytes = 0): boolean {
    const heard = this.#of(peer)
    const second = Math.floor(this.#clock.elapsed() / SECOND_MS)
    if (heard.second !== second) Object.assign(heard, { second, inSecond: 0, bytesInSecond: 0 })
    heard.inSecond += 1
    heard.bytesInSecond += bytes
    const { inSecond, bytesInSecond } = heard
    if (inSecond <= this.#perSecond && bytesInSecond <= this.#bytesPerSecond) return true
    this.#tell(peer, heard, { inSecond, bytesInSecond }, 'peer says too much')
    return false
  }

  /** Logs the first dropped message of a peer in a minute, with the number of those before it that were not logged. */
  notHeeded(peer: string, fields: Readonly<Record<string, unknown>>): void {
    this.#tell(peer, this.#of(peer), fields, 'word of a peer not heeded')
  }

  #of(peer: string): Heard {
    const known = this.#peers.get(peer)
    if (known !== undefined) return known
    const fresh = { second: 0, inSecond: 0, bytesInSecond: 0, toldAt: -MINUTE_MS, untold: 0 }
    this.#peers.set(peer, fresh)
    return fresh
  }

  #tell(peer: string, heard: Heard, fields: object, message: string): void {
    const now = this.#clock.elapsed()
    if (now - heard.toldAt < MINUTE_MS) {
      heard.untold += 1
      return
    }
    this.#log.warn({ peer, ...fields, untold: heard.untold }, message)
    Object.assign(heard, { toldAt: now, untold: 0 })
  }
}
