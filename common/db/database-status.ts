import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { chooseWriter, type NodeState } from './choose-writer.ts'
import { databaseUrls } from './database-url.ts'
import { codeOf } from './failures.ts'
import { queryState } from './node-state.ts'
import { openNode } from './open-node.ts'

const CONNECT_LIMIT_MS = 3_000

/** One server of a database, as an operator sees it. */
export interface NodeStatus {
  /** `HOST:PORT`. */
  readonly address: string
  /** Its name in the cluster; undefined for one that does not answer. */
  readonly name: string | undefined
  /** `refused`: it answers, and takes no statements. */
  readonly state: 'writer' | 'ready' | 'receiving' | 'refused' | 'down'
  /** Why it is down; undefined for all others. */
  readonly reason: string | undefined
}

export interface DatabaseStatus {
  readonly database: string
  readonly nodes: readonly NodeStatus[]
  /** Names of migrations, oldest first; undefined where no server takes statements. */
  readonly migrations:
    | { readonly applied: readonly string[]; readonly pending: readonly string[] }
    | undefined
  /** How many migrations it has that this release does not know. */
  readonly unknownMigrations: number
}

interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[]
}

interface Looked {
  readonly url: string
  readonly connection: Connection | undefined
  readonly state: NodeState | undefined
  readonly reason: string | undefined
}

/** What the servers of a database say, and which migrations of the folder it has. Changes nothing. */
export async function databaseStatus(
  databaseUrl: string,
  migrationsFolder: string,
): Promise<DatabaseStatus> {
  const urls = databaseUrls(databaseUrl)
  const looked = await Promise.all(urls.map(look))
  try {
    const states = new Map(
      looked.flatMap(({ url, state }) => (state === undefined ? [] : [[url, state] as const])),
    )
    // Nothing is elected here, so who is silent is passed over.
    const choice = chooseWriter(states, true)
    const writer = choice.is === 'unknown' ? undefined : choice.url
    const connection = looked.find(({ url }) => url === writer)?.connection
    const { entries } = JSON.parse(
      readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8'),
    ) as Journal
    const times = connection && (await appliedTimes(connection))
    const known = new Set(entries.map(({ when }) => when))
    const namesWhere = (isApplied: boolean) =>
      entries.filter(({ when }) => times?.has(when) === isApplied).map(({ tag }) => tag)
    return {
      database: decodeURIComponent(new URL(urls[0]).pathname.slice(1)),
      nodes: looked.map((each) => statusOf(each, writer)),
      migrations: times && { applied: namesWhere(true), pending: namesWhere(false) },
      unknownMigrations: [...(times ?? [])].filter((when) => !known.has(when)).length,
    }
  } finally {
    for (const { connection } of looked) connection?.destroy()
  }
}

async function look(url: string): Promise<Looked> {
  let connection: Connection | undefined
  try {
    connection = await openNode(url, CONNECT_LIMIT_MS)
    return { url, connection, state: await queryState(connection), reason: undefined }
  } catch (error) {
    connection?.destroy()
    return { url, connection: undefined, state: undefined, reason: (error as Error).message }
  }
}

function statusOf({ url, state, reason }: Looked, writer: string | undefined): NodeStatus {
  const node = { address: new URL(url).host, name: state?.name, reason }
  if (state === undefined) return { ...node, state: 'down' }
  if (!state.isInCluster) return { ...node, state: 'refused' }
  if (url === writer) return { ...node, state: 'writer' }
  return { ...node, state: state.isSynced ? 'ready' : 'receiving' }
}

/** Those of the table of migrations; none where it is not there. */
async function appliedTimes(connection: Connection): Promise<ReadonlySet<number>> {
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      'SELECT created_at FROM __drizzle_migrations',
    )
    return new Set(rows.map((row) => Number(row['created_at'])))
  } catch (error) {
    if (['ER_NO_SUCH_TABLE', 'ER_NO_DB_ERROR'].includes(codeOf(error) ?? '')) return new Set()
    throw error
  }
}
