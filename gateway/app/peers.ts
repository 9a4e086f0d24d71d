import { type NatsConnection, RequestError } from '@nats-io/transport-node'
import { type Clock, WOKEN } from '#common/clock.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { aliveSubject, peersSubject } from '#openapi/wire.ts'
import type { OthersReach, Reach } from './reach.ts'

export interface PeersOptions {
  readonly nats: NatsConnection
  readonly clock: Clock
  readonly log: Logger
  /** The name of this process among the gateways, and an id that differs after each start. */
  readonly processName: string
  readonly incarnation: string
  readonly reach: Reach
  /** What is done about a gateway that has been away from the bus for so long, each once; also about one that alone does not reach the database. */
  readonly onAway: readonly AbsenceHandler[]
}

export interface AbsenceHandler {
  readonly afterMs: number
  readonly act: (gone: {
    readonly processName: string
    readonly incarnation: string
  }) => Promise<void>
}

/** How often a gateway introduces itself. */
const INTRODUCE_MS = 1_000
/** How often each gateway asks each other one whether it is there. */
const ASK_MS = 50
const ANSWER_LIMIT_MS = 1_000
/** A timer may fire so much before its time, by the clock that counts. */
const EARLY_MS = 2
/** One that introduces itself no more and answers nothing, but is on the bus. */
const FORGET_MS = 30_000

/** What one answers that is asked whether it is there; '' where it is not certain, and of a former release. */
const ANSWERS = { reaches: 'database', misses: 'no-database' } as const
/** The others may find the database again within moments. */
const MISSING_MS = 1_500
/** An older answer may be overtaken: the database may have gone for all. */
const FRESH_MS = 500
/** The bus keeps the connection of one that is cut off, as long as there is something to send it. */
const SILENT_MS = 5_000

/** Another gateway. */
export interface KnownPeer {
  readonly name: string
  /** Since when it has been away from the bus, in milliseconds; undefined: it is there. */
  readonly leftMs: number | undefined
}

/** How long one that has left is still named. */
const NAMED_MS = 600_000

interface Peer {
  readonly incarnation: string
  announcedAt: number
  /** Since when the bus has known no such gateway. */
  awaySince: number | undefined
  /** Since when this gateway has reached the database, and that one has said that it does not. */
  missingSince: number | undefined
  /** Since when it has not answered. */
  silentSince: number | undefined
  /** When it said last that it reaches the database, and that it does not. */
  reachedAt: number
  missedAt: number
  /** When the newest of the questions was asked that it has answered. */
  answeredAt: number
  /** How many of `onAway` have been done. */
  acted: number
}

/**
 * The other gateways. The bus answers at once for one whose connection has ended, so that its work is taken over in a tenth
 * of a second instead of after the time of its leases. One that hangs or is cut off keeps its connection for longer, and is
 * silent; one that is cut off from the database says so. Everything done here must be harmless to a gateway that is at work
 * and has only lost the bus.
 */
export class Peers implements AsyncDisposable, OthersReach {
  readonly #options: PeersOptions
  readonly #peers = new Map<string, Peer>()
  /** When each that was forgotten had been there last. */
  readonly #left = new Map<string, number>()
  readonly #stop = new AbortController()
  /** Aborted when another gateway comes. */
  #alone = new AbortController()
  readonly #loop: Promise<void>
  readonly #endSubscriptions: () => void
  #introducedAt = Number.NEGATIVE_INFINITY

  constructor(options: PeersOptions) {
    this.#options = options
    const { nats, incarnation } = options
    const subscriptions = [
      nats.subscribe(aliveSubject(incarnation), {
        callback: (_, ask) => void ask.respond(this.#answer()),
      }),
      nats.subscribe(peersSubject(), {
        callback: (error, message) => {
          if (error === null) this.#receive(message.string())
        },
      }),
    ]
    this.#endSubscriptions = () => {
      if (nats.isClosed()) return
      for (const each of subscriptions) each.unsubscribe()
    }
    this.#loop = this.#run()
  }

  /** Those on the bus, and those that left it within the last ten minutes. */
  known(): readonly KnownPeer[] {
    const now = this.#options.clock.elapsed()
    for (const [name, at] of this.#left) if (now - at > NAMED_MS) this.#left.delete(name)
    const present = [...this.#peers].map(([name, { awaySince }]) => {
      return { name, leftMs: awaySince === undefined ? undefined : now - awaySince }
    })
    return [...present, ...[...this.#left].map(([name, at]) => ({ name, leftMs: now - at }))]
  }

  get areNone(): boolean {
    return this.#peers.size === 0
  }

  /** True while another gateway says that it reaches the database. */
  anyReachesDatabase(): boolean {
    const since = this.#options.clock.elapsed() - FRESH_MS
    return [...this.#peers.values()].some(({ reachedAt }) => reachedAt >= since)
  }

  /** True unless all others say that they do not reach the database, or there are none. */
  anyMayReachDatabase(): boolean {
    const since = this.#options.clock.elapsed() - FRESH_MS
    return [...this.#peers.values()].some(({ missedAt }) => missedAt < since)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#loop
    this.#endSubscriptions()
  }

  #answer(): string {
    const { reach } = this.#options
    if (reach.isWell('database')) return ANSWERS.reaches
    return reach.reaches('database') ? '' : ANSWERS.misses
  }

  #receive(introduction: string): void {
    const [incarnation, ...rest] = introduction.split(' ')
    const name = rest.join(' ')
    if (incarnation === undefined || name === '' || name === this.#options.processName) return
    const announcedAt = this.#options.clock.elapsed()
    this.#left.delete(name)
    const known = this.#peers.get(name)
    if (known?.incarnation === incarnation) {
      known.announcedAt = announcedAt
      return
    }
    const fresh = {
      awaySince: undefined,
      missingSince: undefined,
      silentSince: undefined,
    }
    this.#peers.set(name, {
      incarnation,
      announcedAt,
      reachedAt: -Infinity,
      missedAt: -Infinity,
      answeredAt: -Infinity,
      acted: 0,
      ...fresh,
    })
    this.#options.log.info({ gateway: name }, 'gateway joined the bus')
    this.#alone.abort(WOKEN)
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#introduce()
      for (const [name, peer] of this.#peers) void this.#ask(name, peer)
      await this.#pause()
    }
  }

  /** Until the others are to be asked again. One that is alone sleeps until it introduces itself, or another does. */
  async #pause(): Promise<void> {
    const { clock } = this.#options
    const sinceMs = clock.elapsed() - this.#introducedAt
    const ms = this.areNone ? Math.max(INTRODUCE_MS - sinceMs, ASK_MS) : ASK_MS
    this.#alone = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, this.#alone.signal])
    await clock.sleep(ms, signal).catch(() => {})
  }

  #introduce(): void {
    const { nats, clock, processName, incarnation } = this.#options
    if (nats.isClosed() || clock.elapsed() - this.#introducedAt < INTRODUCE_MS - EARLY_MS) return
    this.#introducedAt = clock.elapsed()
    nats.publish(peersSubject(), `${incarnation} ${processName}`)
  }

  /**
   * One that is killed takes questions for as long as its memory is freed, and answers none. A later question finds at
   * once that it is gone, so none waits for the answer of another.
   */
  async #ask(name: string, peer: Peer): Promise<void> {
    const { nats, clock, reach } = this.#options
    const askedAt = clock.elapsed()
    try {
      const subject = aliveSubject(peer.incarnation)
      const answer = await nats.request(subject, '', { timeout: ANSWER_LIMIT_MS })
      peer.awaySince = undefined
      peer.answeredAt = Math.max(peer.answeredAt, askedAt)
      await this.#answered(name, peer, answer.string())
    } catch (error) {
      const isAway = error instanceof RequestError && error.isNoResponders()
      if (isAway) await this.#away(name, peer)
      // One that misses the bus itself hears of no other, and does not become the only gateway by that.
      else if (!reach.reaches('bus')) peer.silentSince = undefined
      else if (clock.elapsed() - peer.announcedAt > FORGET_MS) this.#forget(name, peer)
      else if (askedAt > peer.answeredAt) await this.#silent(name, peer)
    }
  }

  async #answered(name: string, peer: Peer, answer: string): Promise<void> {
    const { clock, reach } = this.#options
    peer.silentSince = undefined
    if (answer === ANSWERS.reaches) peer.reachedAt = clock.elapsed()
    if (answer === ANSWERS.misses) peer.missedAt = clock.elapsed()
    if (answer === ANSWERS.misses && reach.isWell('database')) {
      peer.missingSince ??= clock.elapsed()
      const since = peer.missingSince + MISSING_MS
      await this.#takeOver(name, peer, since, 'gateway does not reach the database')
    } else {
      peer.missingSince = undefined
      peer.acted = 0
    }
  }

  async #away(name: string, peer: Peer): Promise<void> {
    peer.awaySince ??= this.#options.clock.elapsed()
    if (peer.acted === this.#options.onAway.length) this.#forget(name, peer)
    else await this.#takeOver(name, peer, peer.awaySince, 'gateway left the bus')
  }

  /** One that hangs, or is cut off from the bus. */
  async #silent(name: string, peer: Peer): Promise<void> {
    peer.silentSince ??= this.#options.clock.elapsed()
    await this.#takeOver(name, peer, peer.silentSince + SILENT_MS, 'gateway does not answer')
  }

  /** Does what is due about a gateway that has been unable to work since then. */
  async #takeOver(name: string, peer: Peer, since: number, why: string): Promise<void> {
    const { clock, log, onAway } = this.#options
    const awayMs = clock.elapsed() - since
    const due = onAway[peer.acted]
    if (due === undefined || awayMs < due.afterMs) return
    peer.acted += 1
    log.info({ gateway: name, away_ms: Math.round(awayMs) }, why)
    await due.act({ processName: name, incarnation: peer.incarnation }).catch((error: unknown) => {
      log.warn({ gateway: name, ...errorFields(error) }, 'work of a gateway left to its leases')
    })
  }

  /** Until it introduces itself again. */
  #forget(name: string, peer: Peer): void {
    if (this.#peers.get(name) !== peer) return
    this.#peers.delete(name)
    this.#left.set(name, peer.awaySince ?? peer.announcedAt)
  }
}
