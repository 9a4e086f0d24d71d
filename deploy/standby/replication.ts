import { isIP } from 'node:net'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { CA_PARAMETER, connectionTo } from '#common/db/connection-options.ts'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'

/** How a copy of a database is kept up to date. */
export interface Replication {
  /** `HOST:PORT` of the database server that is followed. */
  readonly source: string
  /** False while that server cannot be reached. */
  readonly isConnected: boolean
  /** False where a change could not be applied; `error` says why. */
  readonly isApplying: boolean
  readonly error: string | undefined
  /** Age of the change that is applied now, in seconds; undefined while the source cannot be reached. */
  readonly lagS: number | undefined
  /** Received from the source, and not yet applied. */
  readonly unappliedTransactions: number
}

/** MariaDB's global transaction ids, one per domain: `1-1-270,2-2-15`. */
export type GtidPosition = string

const CONNECT_LIMIT_MS = 5_000
const APPLY_LIMIT_MS = 600_000
const POSITION = /^[0-9,-]*$/
const PLAIN = /^[\w./:-]*$/

/** A connection to the server of a URL, which is closed at the end of `work`. */
export async function onServer<T>(
  url: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await createConnection({
    ...connectionTo(url),
    connectTimeout: CONNECT_LIMIT_MS,
  })
  try {
    return await work(connection)
  } finally {
    connection.destroy()
  }
}

/** Undefined for a server that follows none. */
export async function replicationOf(connection: Connection): Promise<Replication | undefined> {
  const [[row]] = await connection.query<RowDataPacket[]>('SHOW SLAVE STATUS')
  if (row === undefined) return undefined
  const text = (name: string) => String(row[name] ?? '')
  const lag = row['Seconds_Behind_Master'] as number | null
  const [[position]] = await connection.query<RowDataPacket[]>(
    'SELECT @@global.gtid_slave_pos AS applied',
  )
  const error = [text('Last_SQL_Error'), text('Last_IO_Error')].find((each) => each !== '')
  return {
    source: `${text('Master_Host')}:${text('Master_Port')}`,
    isConnected: text('Slave_IO_Running') === 'Yes',
    isApplying: text('Slave_SQL_Running') === 'Yes',
    error,
    lagS: lag === null ? undefined : Number(lag),
    unappliedTransactions: transactionsBetween(
      String(position?.['applied'] ?? ''),
      text('Gtid_IO_Pos'),
    ),
  }
}

/** How many transactions of the server of this position are missing in the other. */
export function transactionsBetween(applied: GtidPosition, received: GtidPosition): number {
  const known = sequences(applied)
  let missing = 0
  for (const [domain, n] of sequences(received))
    missing += Math.max(0, n - (known.get(domain) ?? 0))
  return missing
}

function sequences(position: GtidPosition): ReadonlyMap<string, number> {
  const parts = position.split(',').filter((each) => each !== '')
  return new Map(
    parts.map((each) => {
      const [domain = '', , n = '0'] = each.trim().split('-')
      return [domain, Number(n)]
    }),
  )
}

/** Of everything that the server has committed. */
export async function committedPosition(connection: Connection): Promise<GtidPosition> {
  const [[row]] = await connection.query<RowDataPacket[]>('SELECT @@global.gtid_binlog_pos AS p')
  return String(row?.['p'] ?? '')
}

/**
 * Afterwards the server follows that of `source`, a URL with an account that may read its changes, from this position on,
 * and takes no other changes. It goes on to do so after a restart.
 */
export async function beginReplication(
  connection: Connection,
  source: string,
  from: GtidPosition,
): Promise<void> {
  const { hostname, port, username, password, searchParams } = new URL(source)
  const host = hostname.replace(/^\[|\]$/g, '')
  const ca = searchParams.get(CA_PARAMETER)
  const parts = [host, username, decodeURIComponent(password), ca ?? '']
  if (!parts.every((each) => PLAIN.test(each)) || !POSITION.test(from))
    throw new Failure(
      'invalid',
      `The database at ${host} cannot be followed: its URL is not plain.`,
    )
  const encryption =
    ca === null
      ? ', MASTER_SSL = 0'
      : // Only names can be compared with a certificate; its authority is always checked.
        `, MASTER_SSL = 1, MASTER_SSL_CA = '${ca}', MASTER_SSL_VERIFY_SERVER_CERT = ${isIP(host) === 0 ? 1 : 0}`
  await endReplication(connection)
  await connection.query(`SET GLOBAL gtid_slave_pos = '${from}'`)
  await connection.query(`CHANGE MASTER TO MASTER_HOST = '${host}', MASTER_PORT = ${Number(port)},
    MASTER_USER = '${username}', MASTER_PASSWORD = '${decodeURIComponent(password)}',
    MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 1${encryption}`)
  await setReadOnly(connection, true)
  await connection.query('START SLAVE')
}

/** Afterwards the server has applied every change that it had received, and receives no more. */
export async function applyReceived(connection: Connection): Promise<void> {
  await connection.query('START SLAVE SQL_THREAD')
  await connection.query('STOP SLAVE IO_THREAD')
  const isApplied = async () => {
    const state = await replicationOf(connection)
    if (state !== undefined && !state.isApplying)
      throw new Failure(
        'conflict',
        `A change that this site received cannot be applied: ${state.error ?? 'the replication was stopped'}. Copy the database again with: ./weir standby follow`,
      )
    return (state?.unappliedTransactions ?? 0) === 0
  }
  await waitFor('the received changes to be applied', isApplied, APPLY_LIMIT_MS)
}

/** Afterwards the server follows none. */
export async function endReplication(connection: Connection): Promise<void> {
  await connection.query('STOP SLAVE')
  await connection.query('RESET SLAVE ALL')
}

/** Afterwards the server takes changes of programs, or none. */
export async function setReadOnly(connection: Connection, isReadOnly: boolean): Promise<void> {
  await connection.query(`SET GLOBAL read_only = ${isReadOnly ? 1 : 0}`)
}
