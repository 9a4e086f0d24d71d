import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { FIRST_GENERATION, refuseFormerSite } from '#common/bus/site-generation.ts'
import type { Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import type { HeardSite, SiteAnnouncement } from '#openapi/wire/site.ts'
import { innerSubject } from '#openapi/wire.ts'
import { keepAnnouncement, raiseGeneration, readKnownSite } from '../db/known-site.ts'

/** How late a process may learn what another one heard, if their bus lost the notice. */
const REFRESH_MS = 5_000
const NOTHING: HeardSite = { generation: FIRST_GENERATION }

export interface KnownSitesOptions {
  readonly db: Executor
  readonly log: Logger
  readonly cellId: CellId
}

/**
 * What the cell has heard of the sites of its deployment, in its database and the same for all its processes. Gateways of
 * a site that another one has succeeded are refused, so that no server is changed by two sites.
 */
export class KnownSites implements Disposable {
  readonly #options: KnownSitesOptions
  #heard: HeardSite
  #nats: NatsConnection | undefined
  #subscription: Subscription | undefined
  #changed: () => void = () => {}

  private constructor(options: KnownSitesOptions, heard: HeardSite) {
    this.#options = options
    this.#heard = heard
  }

  static async open(options: KnownSitesOptions): Promise<KnownSites> {
    return new KnownSites(options, (await readKnownSite(options.db)) ?? NOTHING)
  }

  get heard(): HeardSite {
    return this.#heard
  }

  /** The URLs of gateways: that of the active site first, then these, then those of the other sites. */
  urls(known: readonly string[], urlOf: (siteUrl: string) => string): readonly string[] {
    const { active, sites = [] } = this.#heard.announcement ?? {}
    const first = sites.filter(({ name }) => name === active)
    const ofSites = (some: typeof sites) => some.map(({ url }) => urlOf(url))
    return [...new Set([...ofSites(first), ...known, ...ofSites(sites)])]
  }

  /** Hears from now on what other processes of the cell learn; calls `changed` after each change. */
  connect(nats: NatsConnection, changed: () => void): void {
    this.#nats = nats
    this.#changed = changed
    this.#subscription = nats.subscribe(innerSubject(this.#options.cellId, 'site-changed'), {
      callback: () => {
        const { log } = this.#options
        void this.refresh().catch((error) => log.warn(errorFields(error), 'site not read'))
      },
    })
  }

  /** Throws `unavailable` for a request of a site that another one has succeeded. */
  async admit(generation: number): Promise<void> {
    if (generation < this.#heard.generation) this.#changed()
    refuseFormerSite(generation, this.#heard.generation)
    if (generation === this.#heard.generation) return
    await raiseGeneration(this.#options.db, generation)
    await this.#learned()
  }

  /** Afterwards every process of the cell knows this soon. Returns the highest generation that is known. */
  async announce(announcement: SiteAnnouncement): Promise<number> {
    await keepAnnouncement(this.#options.db, announcement)
    await this.#learned()
    return this.#heard.generation
  }

  async refresh(): Promise<void> {
    const heard = (await readKnownSite(this.#options.db)) ?? NOTHING
    if (heard.generation < this.#heard.generation) return
    const isRaised = heard.generation > this.#heard.generation
    this.#heard = heard
    if (!isRaised) return
    const { log } = this.#options
    log.info({ generation: heard.generation, site: heard.announcement?.active }, 'site promoted')
    this.#changed()
  }

  reconciler(): Reconciler {
    const round = async () => {
      await this.refresh()
      return { generation: this.#heard.generation }
    }
    return { name: 'known sites', everyMs: REFRESH_MS, round }
  }

  [Symbol.dispose](): void {
    if (this.#nats?.isClosed() === false) this.#subscription?.unsubscribe()
  }

  async #learned(): Promise<void> {
    await this.refresh()
    this.#changed()
    if (this.#nats?.isClosed() === false)
      this.#nats.publish(innerSubject(this.#options.cellId, 'site-changed'))
  }
}
