import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import { CellFeed } from '#gateway/app/feed/cell-feed.ts'
import type { Need } from '#gateway/app/reach.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { CellHeartbeat, FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import { notedNetwork } from './indexed-servers.ts'
import { HONEST_SUMMARY } from './scripted-cell.ts'

type Callback = (error: Error | null, message: ReturnType<typeof feedMessage>) => void
type Read = CellAnswer<'feed.read'>

/** One gateway's feed of one cell, with a bus, a clock and a cell that the test controls. */
export class FeedWorld {
  now = 0
  isReachable = true
  /** Undefined: the cell was admitted and has not reported yet. */
  lastHeartbeatAt: number | undefined = 0
  /** True: this gateway has just started, and has received no message of the cell yet. */
  isNew = false
  /** False: the registry has no such cell any more. */
  isKnown = true
  /** As the registry knows it; undefined: it knows neither. */
  needsResync: boolean | undefined
  /** What the gateway does not reach. */
  missing: Need | undefined
  wakeUps = 0
  notBuilt = 0
  isClosed = false
  incarnation = newId<string>()
  rows: FeedRow[] = []
  /** Changes an answer of the cell to `feed.read`. */
  answer: (honest: Read) => Read = (honest) => honest
  readonly reads: { readonly after: number; readonly limit: number }[] = []
  readonly copies: unknown[] = []
  readonly logged: { readonly level: string; readonly fields: object; readonly message: string }[] =
    []
  readonly deps: { -readonly [Name in keyof ComputeDeps]: ComputeDeps[Name] }
  readonly subscriptions: { callback: Callback; subject: string; isOver: boolean }[] = []
  readonly feed: CellFeed
  readonly #db: Database

  constructor(db: Database, id: CellId, holder = 'me') {
    this.#db = db
    this.deps = this.#deps()
    this.feed = new CellFeed({
      deps: this.deps,
      nats: this.bus() as never,
      missing: () => this.missing,
      cell: { id, name: 'north' },
      holder,
      onNotBuilt: () => (this.notBuilt += 1),
      wake: () => (this.wakeUps += 1),
    })
  }

  #deps(): ComputeDeps {
    const at = (level: string) => (fields: object, message: string) => {
      this.logged.push({ level, fields, message })
    }
    const log = { info: at('info'), warn: at('warn'), error: at('error') }
    return {
      db: this.#db,
      clock: { elapsed: () => this.now },
      cells: {
        cell: () => (this.isKnown ? this.#known() : undefined),
        isUnreachable: () => !this.isReachable && !this.isNew,
      },
      askCell: (_cell: unknown, operation: string, ask: never) => this.#asked(operation, ask),
      network: notedNetwork().network,
      log,
    } as unknown as ComputeDeps
  }

  #known() {
    const { isReachable, lastHeartbeatAt, needsResync } = this
    return { isReachable, lastHeartbeatAt, needsResync }
  }

  bus() {
    return {
      isClosed: () => this.isClosed,
      subscribe: (subject: string, { callback }: { callback: Callback }) => {
        const subscription = { callback, subject, isOver: false }
        this.subscriptions.push(subscription)
        return { unsubscribe: () => (subscription.isOver = true) }
      },
    }
  }

  async #asked(operation: string, ask: { readonly after: number; readonly limit: number }) {
    await Promise.resolve()
    const { incarnation } = this
    const position = this.rows.at(-1)?.n ?? 0
    if (operation === 'snapshot.hosts') return { incarnation, hosts: [], isLast: true }
    if (operation === 'snapshot.volumes')
      return { incarnation, position, volumes: [], isLast: true }
    if (operation === 'snapshot.volume-snapshots')
      return { incarnation, position, snapshots: [], isLast: true }
    if (operation === 'snapshot.read') {
      this.copies.push(ask)
      return { incarnation, position, instances: [], isLast: true }
    }
    this.reads.push({ after: ask.after, limit: ask.limit })
    const rows = this.rows.filter(({ n }) => n > ask.after)
    return this.answer({ incarnation, isGap: false, last: position, rows })
  }

  /** The messages logged at this level. */
  logsOf(level: string): readonly string[] {
    return this.logged.filter((each) => each.level === level).map(({ message }) => message)
  }

  /** The cell commits these changes; nothing is published. */
  commit(...bodies: FeedBody[]): readonly FeedRow[] {
    const after = this.rows.at(-1)?.n ?? 0
    const added = bodies.map((body, index) => ({ n: after + index + 1, body }))
    this.rows.push(...added)
    return added
  }

  publish(rows: readonly FeedRow[], incarnation = this.incarnation): void {
    this.live().callback(null, feedMessage({ incarnation, rows }))
  }

  live() {
    return this.subscriptions.at(-1)!
  }

  beat(position = this.rows.at(-1)?.n ?? 0, incarnation = this.incarnation): void {
    const beat: CellHeartbeat = {
      incarnation,
      position,
      process: 'p',
      at: 1,
      summary: HONEST_SUMMARY,
      labels: {},
    }
    this.feed.receive(beat)
  }

  round = () => this.feed.round()

  /** Copied once, nothing missing, and nothing due. */
  async settle(): Promise<void> {
    await this.round()
    await this.round()
    this.reads.length = 0
    this.copies.length = 0
    this.wakeUps = 0
  }
}

/** A message of the bus with this content. */
export function feedMessage(body: object) {
  return { data: Buffer.from(JSON.stringify(body)), json: (): unknown => body }
}
