import { Agent, request } from 'undici'
import { Database } from '#common/db/database.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { codeOf } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { SITE_PATH } from '#gateway/app/site/ask-sites.ts'
import { type ActiveSite, listSites, readActiveSite, type Site } from '#gateway/db/sites.ts'

/** The site at which a command is given. */
export interface OwnSite {
  readonly name: string
  /** Of the database server of this site that follows another site, with the account for that. */
  readonly databaseUrl: string
  /** The same account at the database server of another site, by its `HOST:PORT`. */
  readonly urlAt: (server: string) => string
  /** The certificates by which gateways of all sites are recognized, PEM; absent: those that the process trusts anyway. */
  readonly ca?: string
}

/** What the database of a site says of the sites; nothing where it was not copied yet. */
export interface Recorded {
  readonly active: ActiveSite | undefined
  readonly sites: readonly Site[]
}

const CONNECTIONS = 2
const ASK_LIMIT_MS = 3_000

export async function withDatabaseOf<T>(
  { databaseUrl: url }: OwnSite,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  await using db = new Database({ url, connectionsMax: CONNECTIONS })
  return await work(db)
}

export async function recordedAt(own: OwnSite): Promise<Recorded> {
  try {
    return await withDatabaseOf(own, async (db) => {
      return { active: await readActiveSite(db), sites: await listSites(db) }
    })
  } catch (error) {
    const isMissing = ['ER_NO_SUCH_TABLE', 'ER_BAD_DB_ERROR', 'ER_NO_DB_ERROR']
    if (!isMissing.includes(codeOf(error) ?? '')) throw error
    return { active: undefined, sites: [] }
  }
}

/** What the gateways of a site say; undefined where none answers. */
export interface Said {
  readonly isActive: boolean
  readonly site: string
  readonly generation: number | undefined
}

export async function askSite(
  { ca }: OwnSite,
  { url }: Pick<Site, 'url'>,
): Promise<Said | undefined> {
  const dispatcher = new Agent({
    connect: { timeout: ASK_LIMIT_MS, ...(ca === undefined ? {} : { ca }) },
  })
  try {
    const { statusCode, body } = await request(`${url}${SITE_PATH}`, {
      dispatcher,
      signal: AbortSignal.timeout(ASK_LIMIT_MS),
    })
    if (statusCode !== 200) return undefined
    const { is, site, announcement } = (await body.json()) as {
      readonly is?: string
      readonly site?: string
      readonly announcement?: { readonly generation: number }
    }
    return { isActive: is === 'active', site: String(site), generation: announcement?.generation }
  } catch {
    return undefined
  } finally {
    await dispatcher.destroy()
  }
}

/** The servers of a site's database, as the account for replication reaches them. */
export function sourcesOf(own: OwnSite, { databases }: Site): readonly string[] {
  return databases.split(',').map((server) => {
    const [url] = databaseUrls(own.urlAt(server))
    return url
  })
}

/** The other site that is active, as its own gateways say. Throws `conflict` or `unavailable` where there is none. */
export async function activeElsewhere(own: OwnSite, sites: readonly Site[]): Promise<Site> {
  const others = sites.filter(({ name }) => name !== own.name)
  const said = await Promise.all(others.map((each) => askSite(own, each)))
  const active = others.find((_, nth) => said[nth]?.isActive === true)
  if (active !== undefined) return active
  const names = others.map(({ name, url }) => `${name} (${url})`).join(', ')
  throw new Failure(
    said.some((each) => each !== undefined) ? 'conflict' : 'unavailable',
    `No other site is active: ${names === '' ? 'none is known' : names}. Promote one, or start its gateways.`,
  )
}
