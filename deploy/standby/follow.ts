import { Failure } from '#common/errors.ts'
import type { Site } from '#gateway/db/sites.ts'
import { copyDatabase } from './copy-database.ts'
import { activeElsewhere, askSite, type OwnSite, recordedAt, sourcesOf } from './own-site.ts'
import { beginReplication, endReplication, onServer, replicationOf } from './replication.ts'

export interface Followed {
  readonly site: Site
  /** `HOST:PORT` of the server that is followed. */
  readonly source: string
  /** True where the whole database was copied, false where it only goes on at another server. */
  readonly isCopied: boolean
}

/**
 * Afterwards the database of this site is a copy of that of the active site, and follows it. What this site had and the
 * active one has not is gone. `known` are the sites where the own database names none. Throws `conflict` at the active
 * site, and `unavailable` while the active one does not answer.
 */
export async function followActiveSite(
  own: OwnSite,
  known: readonly Site[],
  report: (line: string) => void,
): Promise<Followed> {
  const { active: recorded, sites } = await recordedAt(own)
  if (recorded?.name === own.name && recorded.successor === undefined)
    throw new Failure(
      'conflict',
      `Site ${own.name} is active, and follows no other. To exchange the sites, promote the other one first.`,
    )
  const site = await activeElsewhere(own, sites.length > 0 ? sites : known)
  const { generation } = (await askSite(own, site)) ?? {}
  const source = await answering(sourcesOf(own, site), site)
  const at = new URL(source).host
  return onServer(serverOf(own.databaseUrl), async (connection) => {
    const before = await replicationOf(connection)
    const isCopy =
      before?.isApplying === true &&
      recorded?.name === site.name &&
      recorded.generation === generation
    if (isCopy) {
      const [[row]] = (await connection.query('SELECT @@global.gtid_slave_pos AS p')) as never as [
        [{ readonly p: string }],
      ]
      await beginReplication(connection, source, row.p)
      return { site, source: at, isCopied: false }
    }
    await endReplication(connection)
    report(`Copying the database of site ${site.name} from ${at} ...`)
    const position = await copyDatabase(source, own.databaseUrl)
    await beginReplication(connection, source, position)
    return { site, source: at, isCopied: true }
  })
}

async function answering(sources: readonly string[], site: Site): Promise<string> {
  const failures: string[] = []
  for (const source of sources) {
    try {
      await onServer(source, (connection) => connection.query('SELECT 1'))
      return source
    } catch (error) {
      failures.push(`${new URL(source).host}: ${(error as Error).message}`)
    }
  }
  throw new Failure(
    'unavailable',
    `No database server of site ${site.name} answers: ${failures.join('; ')}`,
  )
}

function serverOf(url: string): string {
  const server = new URL(url)
  server.pathname = ''
  return server.href
}
