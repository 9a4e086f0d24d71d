import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { withDeadline } from '#common/with-deadline.ts'
import { databaseTime } from '../db/clock.ts'

/** What a gateway needs to serve. */
export type Need = 'database' | 'bus'

const PROBE_MS = 250
/** Applies while the gateway is healthy and no other gateway could serve in its place. */
const ALONE_PROBE_MS = 1_000
const ANSWER_LIMIT_MS = 1_000
/** Failures in a row after which no new requests should come: others serve them. */
const OUT_OF_ROTATION = 2
/** After these the requests that are here fail, and the work is taken from this gateway: under load an answer may be late. */
const CUT_OFF = 3
/** For so long another gateway must have reached the database, or this one have missed the bus too: they may all find it again within moments. */
const ALONE_MS = 1_500
/** For so long after that, requests may still fail that had to find out whether their commit has happened, or whether others still reach the database. */
const SETTLING_MS = 30_000
/** A limit that is noticed later than this has passed while this process was busy itself. */
const BUSY_MS = 250

/** Whether this gateway reaches its database and the bus, as far as it knows. */
export class Reach {
  readonly #failures = { database: 0, bus: 0 }
  readonly #seen = new Set<Need>()

  /** False once it is certain that what is here has to be done elsewhere. */
  reaches(need: Need): boolean {
    return this.#failures[need] < CUT_OFF
  }

  /** True while it answers at once. */
  isWell(need: Need): boolean {
    return this.#failures[need] === 0
  }

  /** What new requests would miss here; undefined: nothing. */
  get missing(): Need | undefined {
    const needs = ['database', 'bus'] as const
    return needs.find((need) => this.#failures[need] >= OUT_OF_ROTATION)
  }

  /** What was never there has not been lost: a gateway that starts waits for it. */
  noted(need: Need, isThere: boolean): void {
    if (isThere) this.#seen.add(need)
    if (isThere || this.#seen.has(need))
      this.#failures[need] = isThere ? 0 : this.#failures[need] + 1
  }
}

/** What is known of the other gateways. */
export interface OthersReach {
  /** True while no other gateway is known. */
  readonly areNone: boolean
  /** True while one of them says that it reaches the database. */
  anyReachesDatabase(): boolean
  /** True unless all of them say that they do not, or there are none. */
  anyMayReachDatabase(): boolean
}

export interface ReachWatchOptions {
  readonly reach: Reach
  /** That requests use. */
  readonly db: Pick<Database, 'answeredAt' | 'giveUp' | 'resume'>
  /** Of one connection that nothing else waits for. */
  readonly probed: Database
  readonly nats: Pick<NatsConnection, 'rtt'>
  readonly clock: Clock
  readonly log: Logger
  readonly compute: { readonly others: OthersReach }
}

/**
 * Asks the database and the bus four times a second, or once where there is no other gateway, whether they are there. While
 * this gateway alone misses the database, no work waits for it here: others serve meanwhile. While all miss it, work waits,
 * as when a cluster chooses its writer. One that misses both cannot ask the others: it is taken for the one that is cut off.
 */
export class ReachWatch implements AsyncDisposable {
  readonly #options: ReachWatchOptions
  readonly #stop = new AbortController()
  /** Since when this gateway has missed the database while another one reached it, or while it missed the bus too. */
  #aloneSince: number | undefined
  #aloneAt = Number.NEGATIVE_INFINITY
  readonly #loops: Promise<unknown>

  constructor(options: ReachWatchOptions) {
    this.#options = options
    const { probed, nats, db } = options
    this.#loops = Promise.all([
      // A probe may be slower than requests, which show as well that the database is there.
      this.#watch(
        'database',
        () => databaseTime(probed),
        (since) => db.answeredAt > since,
      ),
      this.#watch(
        'bus',
        () => nats.rtt(),
        () => false,
      ),
    ])
  }

  get missing(): Need | undefined {
    return this.#options.reach.missing
  }

  /** True while another gateway may serve what this one cannot. Without the bus nothing is known of the others. */
  get mayAnotherServe(): boolean {
    const { reach, clock, compute } = this.#options
    if (!reach.reaches('bus')) return true
    const wasAlone = clock.elapsed() - this.#aloneAt < SETTLING_MS
    return wasAlone && compute.others.anyMayReachDatabase()
  }

  /** This gateway misses the database, and another one does not, or may not. */
  get #isAlone(): boolean {
    const { reach, compute, clock } = this.#options
    const since = this.#aloneSince
    if (reach.reaches('database') || since === undefined) return false
    if (reach.reaches('bus') && !compute.others.anyReachesDatabase()) return false
    return clock.elapsed() - since >= ALONE_MS
  }

  /** Resolves once new requests would miss nothing here, at the latest after `limitMs`, or when the gateway ends. */
  async untilReached(limitMs: number): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stop
    const until = clock.elapsed() + limitMs
    while (this.missing !== undefined && clock.elapsed() < until && !signal.aborted)
      await clock.sleep(PROBE_MS, signal).catch(() => {})
  }

  /** Afterwards no work waits for a database that is not there: the gateway ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#loops
    const { reach, db } = this.#options
    if (!reach.isWell('database')) db.giveUp('all')
  }

  async #watch(
    need: Need,
    probe: () => Promise<unknown>,
    isShown: (since: number) => boolean,
  ): Promise<void> {
    const { reach, clock, log } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      const wasThere = reach.reaches(need)
      const startedAt = performance.now()
      const failure = await withDeadline(ANSWER_LIMIT_MS, probe()).then(
        () => undefined,
        (error: unknown) => errorChain(error),
      )
      const wasBusy = performance.now() - startedAt > ANSWER_LIMIT_MS + BUSY_MS
      const isThere = failure === undefined || isShown(startedAt)
      if (isThere || !wasBusy) reach.noted(need, isThere)
      if (wasThere && !reach.reaches(need)) log.warn({ need, failure }, 'not reached any more')
      if (!wasThere && reach.reaches(need)) log.info({ need }, 'reached again')
      if (need === 'database') this.#settle()
      await clock.sleep(this.#pauseMs(need), signal).catch(() => {})
    }
  }

  #pauseMs(need: Need): number {
    const { reach, compute } = this.#options
    return reach.isWell(need) && compute.others.areNone ? ALONE_PROBE_MS : PROBE_MS
  }

  #settle(): void {
    const { reach, db, compute, clock } = this.#options
    const { others } = compute
    const mayReach = reach.isWell('bus') ? others.anyReachesDatabase() : !others.areNone
    const mayBeAlone = !reach.isWell('database') && mayReach
    this.#aloneSince = mayBeAlone ? (this.#aloneSince ?? clock.elapsed()) : undefined
    if (this.#isAlone) {
      this.#aloneAt = clock.elapsed()
      db.giveUp('but-kept')
    } else db.resume()
  }
}
