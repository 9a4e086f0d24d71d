import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { NodeState } from './choose-writer.ts'
import { codeOf, isOvertaken } from './failures.ts'
import { isWithoutEffect, RETRY_MS, retried } from './retry.ts'

/** A node that says nothing for this time is taken for dead. */
export const RESPONSE_TIMEOUT_MS = 1_000

const STATUS = `show global status where variable_name in ('wsrep_ready', 'wsrep_cluster_status',
  'wsrep_local_state', 'wsrep_local_index', 'wsrep_cluster_size', 'wsrep_provider_name')`
const SYNCED = '4'
/** It gives another node a copy of its data, and serves meanwhile. */
const DONOR = '2'

/** What a node of a Galera cluster says; of another server, whether it may be written to. */
export async function queryState(connection: Connection): Promise<NodeState> {
  const rows = await ask(connection, STATUS)
  const status = new Map(
    rows.map((row) => [row['Variable_name'] as string, row['Value'] as string]),
  )
  // Debian's MariaDB could be a node of a cluster, and says so also where it is none.
  if ((status.get('wsrep_provider_name') ?? '') === '') return queryStandalone(connection)
  const isInCluster =
    status.get('wsrep_ready') === 'ON' && status.get('wsrep_cluster_status') === 'Primary'
  const [own] = await ask(connection, 'select @@wsrep_node_name as name')
  return {
    name: own?.['name'] as string,
    isInCluster,
    isSynced: [SYNCED, DONOR].includes(status.get('wsrep_local_state') ?? ''),
    place: Number(status.get('wsrep_local_index')),
    size: Number(status.get('wsrep_cluster_size')),
    elected: isInCluster ? await electedOf(connection) : undefined,
  }
}

async function queryStandalone(connection: Connection): Promise<NodeState> {
  const [row] = await ask(connection, 'select @@hostname as name, @@global.read_only as locked')
  const isInCluster = row?.['locked'] === 0
  const name = row?.['name'] as string
  return { name, isInCluster, isSynced: true, place: 0, size: 0, elected: undefined }
}

/** Afterwards the database of a cluster names its writer; this node, if none was elected before. */
export async function beginElections(connection: Connection): Promise<void> {
  const { isInCluster, size, name, elected } = await queryState(connection)
  if (!isInCluster || size === 0 || elected !== undefined) return
  await connection.query(`CREATE TABLE IF NOT EXISTS database_writer (
    id int PRIMARY KEY, node varchar(255) NOT NULL)`)
  const begin = () => connection.query('INSERT IGNORE INTO database_writer VALUES (1, ?)', [name])
  // On several nodes at once all but one are refused, and then find its row.
  await retried(begin, RETRY_MS.usual, isWithoutEffect)
}

async function electedOf(connection: Connection): Promise<string | undefined> {
  const read = () => ask(connection, 'select node from database_writer where id = 1')
  try {
    // While another node makes the table, a cluster ends what reads it as a deadlock.
    const [row] = await retried(read, 0, isOvertaken)
    return row?.['node'] as string | undefined
  } catch (error) {
    if (['ER_NO_SUCH_TABLE', 'ER_NO_DB_ERROR'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

/** Afterwards the node is the elected writer, unless another was elected meanwhile. */
export async function electWriter(
  connection: Connection,
  name: string,
  insteadOf: string,
): Promise<void> {
  const sql = 'update database_writer set node = ? where id = 1 and node = ?'
  await connection.query({ sql, timeout: RESPONSE_TIMEOUT_MS }, [name, insteadOf])
}

/**
 * The name of the elected writer as the newest election says; undefined: none yet. Afterwards the node has applied what
 * others had committed before.
 */
export async function electedAfterAll(connection: Connection): Promise<string | undefined> {
  const set = (value: number) =>
    connection.query({
      sql: `set session wsrep_sync_wait = ${value}`,
      timeout: RESPONSE_TIMEOUT_MS,
    })
  await set(1)
  const elected = await electedOf(connection)
  await set(0)
  return elected
}

async function ask(connection: Connection, sql: string): Promise<readonly RowDataPacket[]> {
  const [rows] = await connection.query<RowDataPacket[]>({ sql, timeout: RESPONSE_TIMEOUT_MS })
  return rows
}
