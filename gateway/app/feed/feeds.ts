import type { NatsConnection } from '@nats-io/transport-node'
import { type ReconcilerStatus, RunningReconciler } from '#common/reconciler.ts'
import { CELL_OPERATIONS } from '#openapi/wire/cell.ts'
import { compileChecks } from '#openapi/wire/checked.ts'
import { FeedBatch } from '#openapi/wire/feed.ts'
import type { CellRef } from '../../cell-client/client.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Reach } from '../reach.ts'
import { CellFeed } from './cell-feed.ts'

export interface FeedsOptions {
  readonly deps: ComputeDeps
  /** Stable over restarts: a restarted process continues its predecessor's feeds at once. */
  readonly processName: string
  readonly nats: NatsConnection
  readonly reach: Pick<Reach, 'missing'>
  /** Called after changes of a cell have been applied. */
  readonly onApplied: () => void
  /** Called after servers were given up by a cell. */
  readonly onNotBuilt: () => void
}

/** How late the feed of a new cell may be taken up, and of one whose gateway has gone. */
const EVERY_MS = 1_000

/** Sees to it that the feed of every cell is applied by one of the gateways. */
export class Feeds implements AsyncDisposable {
  readonly #options: FeedsOptions
  readonly #feeds = new Map<string, RunningFeed>()
  readonly #watch: RunningReconciler
  readonly #stopReceiving: () => void

  constructor(options: FeedsOptions) {
    this.#options = options
    const { cells, clock, log } = options.deps
    // One that takes up the feeds of another gateway has no time for it then: users wait for what the cells say.
    compileChecks([FeedBatch, CELL_OPERATIONS['feed.read'].answer])
    this.#stopReceiving = cells.onHeartbeat((cell, beat) =>
      this.#feeds.get(cell)?.feed.receive(beat),
    )
    const round = async () => this.#followCells()
    this.#watch = new RunningReconciler({ name: 'feeds', everyMs: EVERY_MS, round }, clock, log)
  }

  /** After an interruption of the bus: requests the rows published in between. */
  reconnected(): void {
    for (const { feed } of this.#feeds.values()) feed.reconnected()
  }

  /** To be called when leases of another gateway have ended. */
  wakeAll(): void {
    for (const { running } of this.#feeds.values()) running.wake()
  }

  status(): readonly ReconcilerStatus[] {
    return [...this.#feeds.values()].map(({ running }) => running.status())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopReceiving()
    await this.#watch[Symbol.asyncDispose]()
    await Promise.all([...this.#feeds.keys()].map((cell) => this.#stop(cell)))
  }

  async #followCells(): Promise<{ readonly cells: number }> {
    const cells = this.#options.deps.cells.cells()
    for (const cell of cells) if (!this.#feeds.has(cell.id)) this.#start(cell)
    const known = new Set<string>(cells.map(({ id }) => id))
    for (const id of this.#feeds.keys()) if (!known.has(id)) await this.#stop(id)
    return { cells: cells.length }
  }

  #start({ id, name }: CellRef): void {
    const { deps, nats, reach, onApplied, onNotBuilt, processName } = this.#options
    const feed = new CellFeed({
      deps,
      nats,
      missing: () => reach.missing,
      cell: { id, name },
      holder: processName,
      onNotBuilt,
      wake: () => this.#feeds.get(id)?.running.wake(),
    })
    const round = async () => {
      const report = await feed.round()
      if ((report['rows'] ?? 0) > 0) onApplied()
      return report
    }
    const reconciler = { name: `feed of ${name}`, kind: 'feed', everyMs: EVERY_MS, round }
    const running = new RunningReconciler(reconciler, deps.clock, deps.log)
    this.#feeds.set(id, { feed, running })
  }

  async #stop(id: string): Promise<void> {
    const feed = this.#feeds.get(id)
    this.#feeds.delete(id)
    await feed?.running[Symbol.asyncDispose]()
    await feed?.feed[Symbol.asyncDispose]()
  }
}

interface RunningFeed {
  readonly feed: CellFeed
  readonly running: RunningReconciler
}
