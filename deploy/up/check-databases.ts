import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { codeOf } from '#common/db/failures.ts'
import { errorChain, Failure } from '#common/errors.ts'

const CONNECT_LIMIT_MS = 5_000
const VERSION = /^(?:5\.5\.5-)?(\d+)\.(\d+)\.\S*mariadb/i
/** The first release of MariaDB with all statements of Weir. */
const OLDEST = [10, 6] as const
const DENIED: ReadonlySet<string> = new Set([
  'ER_ACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_CANNOT_USER',
])

/** What a server says of itself. */
interface ServerFacts {
  readonly host: string
  readonly version: string
  /** Of the Galera cluster that it is in; '': of none. */
  readonly cluster: string
  readonly isReadOnly: boolean
}

/**
 * Checks that a new deployment can have its databases on these servers. Throws `unavailable` for a server that does not
 * answer, `forbidden` for an account that may not log in, `unsupported` for another engine or an old release, `invalid`
 * for servers that are not one, and `conflict` where a database or account of one of these names exists.
 */
export async function checkDatabases(rootUrl: string, names: readonly string[]): Promise<void> {
  const urls = databaseUrls(rootUrl)
  const facts: ServerFacts[] = []
  for (const url of urls) facts.push(await onServer(url, factsOf))
  for (const { host, version } of facts) assertVersion(host, version)
  assertTogether(facts)
  await onServer(urls[0], (connection, host) => assertFree(connection, host, names))
}

/** Throws `unsupported` for a server that is no MariaDB, or too old. `version`: as `select version()` says. */
export function assertVersion(host: string, version: string): void {
  const [, major, minor] = VERSION.exec(version) ?? []
  if (major === undefined)
    throw new Failure(
      'unsupported',
      `The database server ${host} is ${version}. Weir needs MariaDB ${OLDEST.join('.')} or later: give the URL of one.`,
    )
  const isOld =
    Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
  if (isOld)
    throw new Failure(
      'unsupported',
      `The database server ${host} is MariaDB ${version}. Weir needs ${OLDEST.join('.')} or later: upgrade it.`,
    )
}

/** A failure of these servers that names what their account lacks; any other error as it is. */
export function explained(error: unknown, rootUrl: string): unknown {
  const code = codeOf(error)
  if (code === undefined || !DENIED.has(code)) return error
  const { username, host } = new URL(databaseUrls(rootUrl)[0])
  return new Failure(
    'forbidden',
    `The account ${decodeURIComponent(username)} of the database server ${host} may not create databases and accounts. Grant it that: GRANT ALL PRIVILEGES ON *.* TO … WITH GRANT OPTION`,
    { cause: error },
  )
}

/** Several servers must be nodes of one cluster, or one and its replicas. */
function assertTogether(facts: readonly ServerFacts[]): void {
  const writable = facts.filter(({ isReadOnly }) => !isReadOnly)
  const clusters = new Set(facts.map(({ cluster }) => cluster))
  const isCluster = clusters.size === 1 && !clusters.has('')
  if (isCluster || (clusters.has('') && clusters.size === 1 && writable.length === 1)) return
  const shown = facts.map(
    ({ host, cluster, isReadOnly }) =>
      `${host} (${cluster === '' ? 'no cluster' : `cluster ${cluster}`}${isReadOnly ? ', read-only' : ''})`,
  )
  throw new Failure(
    'invalid',
    `The database servers ${shown.join(', ')} do not have the same data. Give nodes of one Galera cluster, or one server with replicas that are read_only.`,
  )
}

async function factsOf(connection: Connection, host: string): Promise<ServerFacts> {
  const [rows] = await connection.query<RowDataPacket[]>(
    'select version() as version, @@global.read_only as isReadOnly',
  )
  const [status] = await connection.query<RowDataPacket[]>(
    "show status like 'wsrep_cluster_state_uuid'",
  )
  const cluster = String(status[0]?.['Value'] ?? '')
  const own = rows[0]
  const isReadOnly = Number(own?.['isReadOnly']) !== 0
  return { host, version: String(own?.['version']), cluster, isReadOnly }
}

async function assertFree(
  connection: Connection,
  host: string,
  names: readonly string[],
): Promise<void> {
  const [databases] = await connection.query<RowDataPacket[]>(
    'select schema_name as name from information_schema.schemata where schema_name in (?)',
    [names],
  )
  const [accounts] = await connection.query<RowDataPacket[]>(
    'select grantee as name from information_schema.user_privileges where grantee in (?)',
    [names.map((name) => `'${name}'@'%'`)],
  )
  const [database] = databases
  if (database !== undefined)
    throw new Failure(
      'conflict',
      `The database server ${host} has a database ${database['name']}, which this deployment did not make. Use other servers, or drop it if nobody needs it: DROP DATABASE ${database['name']}`,
    )
  const [account] = accounts
  if (account !== undefined)
    throw new Failure(
      'conflict',
      `The database server ${host} has an account ${account['name']}, which this deployment did not make. Use other servers, or drop it if nobody needs it: DROP USER ${account['name']}`,
    )
}

async function onServer<T>(
  url: string,
  work: (connection: Connection, host: string) => Promise<T>,
): Promise<T> {
  const { host } = new URL(url)
  let connection: Connection
  try {
    connection = await createConnection({ ...connectionTo(url), connectTimeout: CONNECT_LIMIT_MS })
  } catch (cause) {
    if (codeOf(cause) === 'ER_ACCESS_DENIED_ERROR')
      throw new Failure(
        'forbidden',
        `The database server ${host} refuses the account ${decodeURIComponent(new URL(url).username)}. Give its password in the URL, or in WEIR_DATABASE_PASSWORD.`,
        { cause },
      )
    throw new Failure(
      'unavailable',
      `The database server ${host} does not answer: ${errorChain(cause)}. Start it, or name another one.`,
      { cause },
    )
  }
  try {
    return await work(connection, host)
  } finally {
    await connection.end()
  }
}
