import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import { MessageLimiter } from '#common/bus/message-limiter.ts'
import { workContext } from '#common/context.ts'
import { errorFields } from '#common/log.ts'
import type { ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { CellHeartbeat, FeedRow } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import { isMissed } from '../../cell-client/cell.ts'
import type { CellRef } from '../../cell-client/client.ts'
import {
  type FeedPosition,
  noteHeartbeat,
  queueFeedAdvance,
  readFeedPosition,
  recordReachability,
} from '../../db/cell-mappings.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Need } from '../reach.ts'
import { applyRows, endedWork } from './apply-rows.ts'
import { endedVolumeWork } from './ended-volume-work.ts'
import { FeedQueue, readBatch } from './feed-queue.ts'
import { appliedMeasure } from './measures.ts'
import { resync } from './resync.ts'

export interface CellFeedOptions {
  readonly deps: ComputeDeps
  readonly nats: NatsConnection
  /** What this process does not reach; undefined: nothing. */
  readonly missing: () => Need | undefined
  readonly cell: CellRef
  /** This process, among all that might apply the feed. */
  readonly holder: string
  /** Called after servers were given up by the cell. */
  readonly onNotBuilt: () => void
  /** Makes a round begin soon. */
  readonly wake: () => void
}

const LEASE_TTL_MS = 5_000
const LEASE_RENEW_MS = 1_500
/** Rows per transaction, and per question to the cell. */
const ROWS_MAX = 1_000
/**
 * What one cell may publish in a second, so that none takes the time and the log of the others: a busy one publishes a
 * tenth of it. Batches above the limit, and batches that no cell would publish, are dropped and requested later.
 */
const BATCHES_PER_SECOND = 500
const BYTES_PER_SECOND = 8 * 2 ** 20
/** How long applied rows may wait for the cell to hear that it can drop them. */
const ACKNOWLEDGE_MS = 5_000
/** The maximum number of requests in one round; the next round continues. */
const READS_MAX = 100
const NOTE_HEARTBEAT_MS = 5_000
/** After this many consecutive reads of rows that should have arrived as batches, the subscription is taken to be broken. */
const HEARTBEATS_WITHOUT_BATCH_MAX = 3

/** Applies one cell's changes while this process holds the lease for it. Its rounds are run by a reconciler. */
export class CellFeed implements AsyncDisposable {
  readonly #options: CellFeedOptions
  readonly #queue = new FeedQueue()
  #subscription: Subscription | undefined
  readonly #held: HeldLease
  readonly #limiter: MessageLimiter
  #leaseCheckedAt = Number.NEGATIVE_INFINITY
  #acknowledgedAt = Number.NEGATIVE_INFINITY
  /** Undefined until read, and again after anything went wrong. */
  #at: FeedPosition | undefined
  #heartbeat: CellHeartbeat | undefined
  #mustRead = true
  #heartbeatsWithoutBatch = 0
  #caughtUpTo: CellHeartbeat | undefined
  #notedAt = Number.NEGATIVE_INFINITY
  #wasUnreachable: boolean | undefined

  constructor(options: CellFeedOptions) {
    this.#options = options
    const { deps, cell, holder } = options
    const terms = { name: `feed:${cell.id}`, holder, ttlMs: LEASE_TTL_MS, renewMs: LEASE_RENEW_MS }
    this.#held = new HeldLease(deps.db, deps.clock, terms)
    this.#limiter = new MessageLimiter(deps.clock, deps.log, BATCHES_PER_SECOND, BYTES_PER_SECOND)
  }

  /** A heartbeat has reported the position of the cell's feed. */
  receive(beat: CellHeartbeat): void {
    this.#heartbeat = beat
    if (this.#mustRead || this.#isBehind()) this.#options.wake()
  }

  /** Batches that were published during the interruption may be missing. */
  reconnected(): void {
    this.#mustRead = true
    this.#options.wake()
  }

  /** One round: applies the rows that have come, and asks for missing ones. */
  async round(): Promise<ReconcilerReport> {
    if (!(await this.#hold())) return { holder: 0 }
    // An unreachable cell publishes nothing and would only be waited for; its next heartbeat wakes this up.
    const { cells } = this.#options.deps
    const known = cells.cell(this.#options.cell.id)
    if (known?.isReachable !== true) {
      if (known !== undefined && isMissed(cells, known)) await this.#recordReachability(true)
      return { holder: 1, unreachable: 1 }
    }
    try {
      return await this.#catchUp()
    } finally {
      // After the rows, for which users wait.
      await this.#recordReachability(false)
      await this.#noteHeartbeat()
    }
  }

  async #catchUp(): Promise<ReconcilerReport> {
    try {
      this.#at ??= await readFeedPosition(this.#options.deps.db, this.#options.cell.id)
      // It has left, and this feed ends as soon as this gateway notices.
      if (this.#at === undefined) return { holder: 1, left: 1 }
      if (this.#at.needsResync || this.#at.incarnation === null) return await this.#resync()
      const queued = await this.#applyQueue()
      const missing = await this.#readMissing()
      if (missing > 0) this.#resubscribeIfUnreachable()
      return { holder: 1, rows: queued + missing }
    } catch (error) {
      this.#at = undefined
      this.#mustRead = true
      throw error
    }
  }

  /** Another gateway can go on at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#letGo()
    const { deps, cell } = this.#options
    await this.#held.letGo().catch((error: unknown) => {
      deps.log.info({ cell: cell.name, ...errorFields(error) }, 'feed lease left to expire')
    })
  }

  async #hold(): Promise<boolean> {
    const { deps, missing } = this.#options
    // Nothing of the cell comes here, and another gateway may hear it.
    if (missing() === 'bus') {
      await this.#held.letGo()
      return this.#isNotHeld()
    }
    const now = deps.clock.elapsed()
    if (this.#subscription !== undefined && now - this.#leaseCheckedAt < LEASE_RENEW_MS) return true
    this.#leaseCheckedAt = now
    if ((await this.#held.hold()) === undefined) return this.#isNotHeld()
    this.#subscription ??= this.#listen()
    // An operator may have asked for a resync.
    if (deps.cells.cell(this.#options.cell.id)?.needsResync !== false) this.#at = undefined
    return true
  }

  async #isNotHeld(): Promise<false> {
    await this.#letGo()
    this.#wasUnreachable = undefined
    return false
  }

  /** For gateways that start while the cell is unreachable, and for operators. */
  async #noteHeartbeat(): Promise<void> {
    const { deps, cell } = this.#options
    const now = deps.clock.elapsed()
    if (this.#heartbeat === undefined || now - this.#notedAt < NOTE_HEARTBEAT_MS) return
    this.#notedAt = now
    await noteHeartbeat(deps.db, cell.id, this.#heartbeat.summary)
  }

  async #recordReachability(isUnreachable: boolean): Promise<void> {
    if (isUnreachable === this.#wasUnreachable) return
    const { deps, cell } = this.#options
    await deps.db.transaction((tx) => recordReachability(tx, cell.id, isUnreachable))
    this.#wasUnreachable = isUnreachable
  }

  #listen(): Subscription {
    const { nats, cell } = this.#options
    this.#mustRead = true
    this.#heartbeatsWithoutBatch = 0
    return nats.subscribe(eventSubject(cell.id, 'feed'), {
      callback: (error, message) => {
        if (error === null) this.#take(message)
      },
    })
  }

  /** A batch that is dropped here is requested at the next heartbeat at the latest. */
  #take(message: Msg): void {
    const { cell, wake } = this.#options
    this.#heartbeatsWithoutBatch = 0
    if (!this.#limiter.admits(cell.id, message.data.length)) {
      this.#mustRead = true
      return
    }
    try {
      this.#queue.push(readBatch(message))
    } catch (cause) {
      this.#limiter.logDropped(cell.id, { cell: cell.name, ...errorFields(cause) })
      this.#mustRead = true
    }
    wake()
  }

  /** Of a deaf subscription (see `CellRegistry`) every change would wait for a heartbeat. */
  #resubscribeIfUnreachable(): void {
    this.#heartbeatsWithoutBatch += 1
    if (this.#heartbeatsWithoutBatch < HEARTBEATS_WITHOUT_BATCH_MAX) return
    const former = this.#subscription
    this.#subscription = this.#listen()
    former?.unsubscribe()
  }

  async #letGo(): Promise<void> {
    const { nats } = this.#options
    if (this.#subscription !== undefined && !nats.isClosed()) this.#subscription.unsubscribe()
    this.#subscription = undefined
    this.#at = undefined
    this.#queue.clear()
  }

  async #resync(): Promise<ReconcilerReport> {
    const { deps, cell } = this.#options
    this.#queue.clear()
    const { position, report } = await resync(deps, cell, this.#at!)
    this.#at = position
    this.#mustRead = true
    this.#options.wake()
    return { holder: 1, ...report }
  }

  /** Applies published rows, as long as they follow the last known one. */
  async #applyQueue(): Promise<number> {
    let count = 0
    for (;;) {
      const { rows, isGap } = this.#queue.take(this.#at!, ROWS_MAX)
      if (isGap) this.#mustRead = true
      if (rows.length === 0) return count
      await this.#apply(rows)
      count += rows.length
    }
  }

  async #readMissing(): Promise<number> {
    const { deps, cell } = this.#options
    let count = 0
    for (let reads = 0; reads < READS_MAX && this.#shouldRead(); reads += 1) {
      const { incarnation, position: after } = this.#at!
      const answer = await deps.askCell(
        cell,
        'feed.read',
        { incarnation: incarnation!, after, limit: ROWS_MAX },
        { work: workContext({}) },
      )
      this.#acknowledgedAt = deps.clock.elapsed()
      if (answer.isGap || answer.incarnation !== incarnation) {
        this.#at = { ...this.#at!, needsResync: true }
        this.#options.wake()
        return count
      }
      // No more than was asked for, or one transaction could be as long as the cell likes.
      const rows = answer.rows.filter(({ n }) => n > after).slice(0, ROWS_MAX)
      if (rows.length > 0) await this.#apply(rows)
      count += rows.length
      // A page may end early, where its bytes would be too many.
      this.#mustRead = rows.length > 0 && rows.at(-1)!.n < answer.last
      if (rows.length === 0) this.#caughtUpTo = this.#heartbeat
    }
    return count
  }

  #shouldRead(): boolean {
    const since = this.#options.deps.clock.elapsed() - this.#acknowledgedAt
    return this.#mustRead || this.#isBehind() || since > ACKNOWLEDGE_MS
  }

  #isBehind(): boolean {
    if (this.#heartbeat === undefined || this.#at === undefined) return false
    // The cell had nothing more when it was asked; only a later heartbeat can know of more.
    if (this.#heartbeat === this.#caughtUpTo) return false
    const { incarnation, position } = this.#heartbeat
    return incarnation !== this.#at.incarnation || position > this.#at.position
  }

  async #apply(rows: readonly FeedRow[]): Promise<void> {
    const { deps, cell, onNotBuilt } = this.#options
    const was = this.#at!
    const next = { ...was, incarnation: was.incarnation!, position: rows.at(-1)!.n }
    const applied = await deps.db.transaction(async (tx) => {
      // First, so that of two processes that both believe they hold the lease only one gets further.
      queueFeedAdvance(tx, cell.id, was, next)
      return applyRows(tx, deps, cell.id, rows)
    })
    this.#at = next
    for (const work of endedWork(rows))
      deps.log.info({ cell: cell.name, ...work }, 'server work ended')
    for (const work of endedVolumeWork(rows))
      deps.log.info({ cell: cell.name, ...work }, 'volume work ended')
    appliedMeasure.report({ cell: cell.name, rows })
    if (applied.hasNotBuilt) onNotBuilt()
  }
}
