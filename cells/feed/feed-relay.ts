import type { NatsConnection } from '@nats-io/transport-node'
import { PAGE_MAX_BYTES } from '#common/bus/within-bytes.ts'
import { type Clock, untilTick, WOKEN } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { eventSubject, innerSubject } from '#openapi/wire.ts'
import { type NumberedText, numberFeed, readFeedState } from '../db/feed.ts'

export interface FeedRelayOptions {
  readonly db: Transactional
  readonly nats: NatsConnection
  readonly clock: Clock
  readonly log: Logger
  readonly cellId: CellId
  readonly incarnation: string
  /** Unique among the cell's processes, living and dead. */
  readonly holder: string
}

const LEASE_NAME = 'feed-relay'
const LEASE_TTL_MS = 3_000
/** Changes that come close together go out together. */
const GATHER_MS = 5
/** While so many rows go out at once and more come meanwhile: what a gateway pays for a batch hardly depends on its length. */
const BUSY_ROWS = 4
const GATHER_BUSY_MS = 25
/** The heartbeat looks every second whether a wake-up was lost. */
const POLL_MS = 10_000
const BATCH_ROWS = 200
/** A round ends after so many batches, so that the lease is looked after. */
const BATCHES_MAX = 50

/** Numbers what has been committed to the feed and sends it out; one process of the cell does it at a time. */
export class FeedRelay implements AsyncDisposable {
  readonly #options: FeedRelayOptions
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>
  readonly #unsubscribe: () => void
  #wake: () => void = () => {}
  #isWoken = false
  readonly #lease: HeldLease
  #isHolder = false
  #isFailing = false
  /** How many rows the last round sent. */
  #sent = 0
  /** The highest number given; undefined until read, and again after anything went wrong. */
  #last: number | undefined

  constructor(options: FeedRelayOptions) {
    this.#options = options
    const { db, clock, nats, cellId, holder } = options
    this.#lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
    const subscription = nats.subscribe(innerSubject(cellId, 'feed-changed'), {
      callback: () => {
        if (this.#isHolder) this.wake()
      },
    })
    this.#unsubscribe = () => {
      if (!nats.isClosed()) subscription.unsubscribe()
    }
    this.#loop = this.#run()
  }

  /** Rows have been committed: they go out in a moment. */
  wake(): void {
    this.#isWoken = true
    this.#wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#wake()
    this.#unsubscribe()
    await this.#loop
    await this.#letGo()
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    while (!this.#stop.signal.aborted) {
      const wasWoken = await this.#pause()
      if (this.#stop.signal.aborted) return
      try {
        await this.#round(wasWoken)
        this.#isFailing = false
      } catch (error) {
        this.#last = undefined
        // While the database is away every round fails: one log line is enough.
        if (!this.#isFailing) log.warn(errorFields(error), 'feed not relayed')
        this.#isFailing = true
      }
    }
  }

  async #round(wasWoken: boolean): Promise<void> {
    const { db, nats, cellId } = this.#options
    if (!(await this.#holdsLease())) {
      if (wasWoken && !nats.isClosed()) nats.publish(innerSubject(cellId, 'feed-changed'))
      return
    }
    // Rows that a predecessor numbered but did not publish: gateways notice the gap by the position in the next
    // heartbeat.
    this.#last ??= (await readFeedState(db)).last
    this.#sent = 0
    for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
      const rows = await numberFeed(db, this.#last, BATCH_ROWS)
      this.#last += rows.length
      this.#sent += rows.length
      this.#send(rows)
      if (rows.length < BATCH_ROWS) return
    }
    this.#isWoken = true
  }

  #send(rows: readonly NumberedText[]): void {
    let size = 0
    let part: NumberedText[] = []
    for (const row of rows) {
      const bytes = Buffer.byteLength(row.body)
      if (size > 0 && size + bytes > PAGE_MAX_BYTES) {
        this.#publish(part)
        size = 0
        part = []
      }
      part.push(row)
      size += bytes
    }
    this.#publish(part)
  }

  /** Bodies are JSON already: parsing them only to write them again would be most of the relay's work. */
  #publish(rows: readonly NumberedText[]): void {
    const { nats, cellId, incarnation } = this.#options
    if (rows.length === 0 || nats.isClosed()) return
    const parts = rows.map(({ n, body }) => `{"n":${n},"body":${body}}`)
    const payload = `{"incarnation":"${incarnation}","rows":[${parts.join(',')}]}`
    nats.publish(eventSubject(cellId, 'feed'), payload)
  }

  async #holdsLease(): Promise<boolean> {
    const lease = await this.#lease.hold()
    if (lease !== undefined && !this.#isHolder) this.#last = undefined
    this.#isHolder = lease !== undefined
    return this.#isHolder
  }

  /** So that another process need not wait for the lease to run out. */
  async #letGo(): Promise<void> {
    const { log } = this.#options
    await this.#lease.letGo().catch((error: unknown) => {
      log.warn(errorFields(error), 'feed lease not released')
    })
  }

  /** Ends soon after a wake-up, or at the next poll; true for a wake-up. */
  async #pause(): Promise<boolean> {
    const { clock } = this.#options
    const isBusy = this.#isWoken && this.#sent >= BUSY_ROWS
    const timeout = new AbortController()
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    if (!this.#isWoken && !this.#stop.signal.aborted) {
      const slept = clock.sleep(untilTick(clock, POLL_MS), timeout.signal).catch(() => {})
      await Promise.race([woken, slept])
      timeout.abort(WOKEN)
    }
    const wasWoken = this.#isWoken
    const gatherMs = isBusy ? GATHER_BUSY_MS : GATHER_MS
    if (wasWoken) await clock.sleep(gatherMs, this.#stop.signal).catch(() => {})
    this.#isWoken = false
    return wasWoken
  }
}
