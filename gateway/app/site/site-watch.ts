import type { Clock } from '#common/clock.ts'
import { workContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import type { Secrets } from '#common/secrets.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import type { SiteAnnouncement } from '#openapi/wire/site.ts'
import {
  listSites,
  readActiveSite,
  recordSuccessor,
  type Site,
  type Successor,
} from '../../db/sites.ts'
import type { Compute } from '../compute.ts'
import { announcementOf, isKnown, provenPromotion } from './announcement.ts'
import { latestPromotion } from './ask-sites.ts'
import { type Standing, standingOf } from './standing.ts'

export interface SiteWatchOptions {
  readonly db: Executor
  readonly clock: Clock
  readonly log: Logger
  readonly secrets: Secrets
  readonly compute: Pick<Compute, 'cells' | 'askCell'>
  /** The name of this site, and the generation in which it is active. */
  readonly name: string
  readonly generation: number
}

/** How late a gateway notices in its database that its site is active no more. */
const READ_MS = 500
/** How often it asks other sites. */
const ASK_MS = 2_000
/** A cell of a release that knows nothing of sites is told again after this time. */
const TELL_AGAIN_MS = 60_000

/**
 * Tells cells which site is active, and finds out whether it still is this one: from the database, from cells, and from
 * the other sites.
 */
export class SiteWatch implements AsyncDisposable {
  /** Resolves once another site is active. */
  readonly ended: Promise<Standing>
  readonly #options: SiteWatchOptions
  readonly #end: (standing: Standing) => void
  readonly #owned = new AsyncDisposableStack()
  readonly #toldAt = new Map<CellId, number>()
  #sites: readonly Site[] = []
  #announcement: SiteAnnouncement | undefined

  private constructor(options: SiteWatchOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<Standing>()
    this.ended = promise
    this.#end = resolve
  }

  static async open(options: SiteWatchOptions): Promise<SiteWatch> {
    const watch = new SiteWatch(options)
    const { clock, log, compute } = options
    await watch.#read()
    const run = (name: string, everyMs: number, work: () => Promise<void>) =>
      watch.#owned.use(
        new RunningReconciler(
          { name, everyMs, round: () => work().then(() => ({ sites: watch.#sites.length })) },
          clock,
          log,
        ),
      )
    run('active site', READ_MS, () => watch.#read())
    run('other sites', ASK_MS, () => watch.#askOthers())
    watch.#owned.defer(compute.cells.onHeartbeat((cell, beat) => watch.#hear(cell, beat)))
    return watch
  }

  /** What others are told. */
  get announcement(): SiteAnnouncement | undefined {
    return this.#announcement
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync()
  }

  async #read(): Promise<void> {
    const { db, secrets, name, generation } = this.#options
    const [recorded, sites] = await Promise.all([readActiveSite(db), listSites(db)])
    if (JSON.stringify(sites) !== JSON.stringify(this.#sites))
      this.#announcement = announcementOf(secrets, { name, generation }, sites)
    this.#sites = sites
    const standing = standingOf(name, recorded, sites)
    if (standing.is === 'standby' || standing.generation !== generation) this.#end(standing)
  }

  async #askOthers(): Promise<void> {
    const { secrets, name } = this.#options
    const others = this.#sites.filter((each) => each.name !== name)
    await this.#succeed(await latestPromotion(secrets, others), 'another site')
  }

  #hear(cell: CellId, { site }: CellHeartbeat): void {
    const { secrets, generation, clock, log } = this.#options
    const announcement = this.#announcement
    if (site !== undefined && site.generation > generation) {
      const said = provenPromotion(secrets, site.announcement)
      void this.#succeed(said, 'a cell').catch((error) =>
        log.warn(errorFields(error), 'successor not recorded'),
      )
      return
    }
    if (announcement === undefined || isKnown(announcement, site)) return
    const pauseMs = site === undefined ? TELL_AGAIN_MS : 0
    if (clock.elapsed() - (this.#toldAt.get(cell) ?? -Infinity) < pauseMs) return
    this.#toldAt.set(cell, clock.elapsed())
    void this.#tell(cell, announcement)
  }

  async #tell(id: CellId, announcement: SiteAnnouncement): Promise<void> {
    const { compute, log } = this.#options
    const cell = compute.cells.cell(id)
    if (cell === undefined) return
    await compute
      .askCell(cell, 'site.announce', announcement, { work: workContext({}) })
      .catch((error) => log.debug({ cell: id, ...errorFields(error) }, 'site not announced'))
  }

  /** Ends this site's turn if the promotion came after its own. */
  async #succeed(promoted: Successor | undefined, from: string): Promise<void> {
    const { db, log, name, generation } = this.#options
    if (promoted === undefined || promoted.generation <= generation) return
    const standing = standingOf(name, { name, generation, successor: promoted }, this.#sites)
    log.warn({ site: promoted.name, generation: promoted.generation, from }, 'site steps down')
    this.#end(standing)
    await recordSuccessor(db, promoted)
  }
}
