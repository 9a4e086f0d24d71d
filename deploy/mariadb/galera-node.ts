import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { findProgram } from '../process/find-program.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { type Lifetime, logTail, startProcess } from '../process/start-process.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { createData } from './create-data.ts'
import { type GaleraCluster, type GaleraMember, galeraOptions } from './galera-options.ts'
import { optionFile, privateOptions } from './option-file.ts'

/** How a node starts: `found` begins a cluster with the data of this node, `join` takes part in the one that runs. */
export type GaleraStart = 'found' | 'join'

/** A node that lost others may have a whole copy of the data to receive. */
const READY_LIMIT_MS = 120_000
/** A node ends when a transfer to it fails: Galera's transfers from a node that has just joined may lack changes. */
const JOINS_MAX = 3
const PROBE_TIMEOUT_MS = 2_000
const RECOVER_LIMIT_MS = 60_000

/**
 * Afterwards the node serves the data under `directory` and is synced with its cluster. A node without data receives
 * them from another node, which serves meanwhile. A node that was killed receives the changes that it missed. A node that
 * ends while it joins is started again, a few times; then this throws `unavailable` with the end of its log.
 */
export async function startGaleraNode(
  directory: string,
  cluster: GaleraCluster,
  { member, start, lifetime }: { member: GaleraMember; start: GaleraStart; lifetime: Lifetime },
): Promise<ProcessIdentity> {
  const home = resolve(directory)
  mkdirSync(`${home}`, { recursive: true, mode: 0o700 })
  if (start === 'found') await createData(home)
  else mkdirSync(`${home}/data`, { recursive: true, mode: 0o700 })
  const options = [
    ...privateOptions(home, member.ports.sql),
    ...galeraOptions(member, cluster, home),
  ]
  writeFileAtomically(`${home}/mariadb.cnf`, optionFile(options))
  const isNew = start === 'found' && !existsSync(`${home}/data/grastate.dat`)
  for (let left = start === 'join' ? JOINS_MAX : 1; ; left -= 1) {
    const identity = await startProcess({
      command: findProgram('mariadbd'),
      args: [
        `--defaults-file=${home}/mariadb.cnf`,
        ...(start === 'found' ? ['--wsrep-new-cluster'] : recoveredPosition(home)),
        ...(isNew ? [`--init-file=${accountsFile(home, cluster.password)}`] : []),
      ],
      env: { PATH: pathWithTransfers(), TZ: 'UTC' },
      directory: home,
      logFile: `${home}/mariadb.log`,
      lifetime,
    })
    if (await isSynced(identity, member, cluster, home)) return identity
    if (left === 1) throw failureOf(member, 'ended while starting', home)
  }
}

/** The URL of one node, as root. */
export function galeraRootUrl({ password }: GaleraCluster, { ports }: GaleraMember): string {
  return `mysql://root:${password}@127.0.0.1:${ports.sql}/`
}

/** Without the position up to which its tables go, a node that was killed would receive a whole copy of the data. */
function recoveredPosition(home: string): readonly string[] {
  if (!existsSync(`${home}/data/grastate.dat`)) return []
  const log = `${home}/recovery.log`
  rmSync(log, { force: true })
  spawnSync(
    findProgram('mariadbd'),
    [`--defaults-file=${home}/mariadb.cnf`, '--wsrep-recover', `--log-error=${log}`],
    { timeout: RECOVER_LIMIT_MS, stdio: 'ignore' },
  )
  const position = /Recovered position: *(\S+)/.exec(readFileSync(log, 'utf8'))?.[1]
  return position === undefined ? [] : [`--wsrep-start-position=${position}`]
}

/** Statements that a new cluster runs before it listens, one a line. Passwords are hexadecimal: nothing needs quoting. */
function accountsFile(home: string, password: string): string {
  if (!/^[0-9a-f]+$/.test(password)) throw new Error('The password is not hexadecimal')
  const lines = [
    "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host NOT IN ('localhost', '127.0.0.1')",
    'FLUSH PRIVILEGES',
    `ALTER USER root@localhost IDENTIFIED BY '${password}'`,
    "CREATE USER IF NOT EXISTS root@'127.0.0.1'",
    `ALTER USER root@'127.0.0.1' IDENTIFIED BY '${password}'`,
    "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
    `CREATE USER IF NOT EXISTS sst@localhost IDENTIFIED BY '${password}'`,
    'GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR, REPLICA MONITOR ON *.* TO sst@localhost',
  ]
  const file = `${home}/accounts.sql`
  writeFileAtomically(file, lines.map((line) => `${line};\n`).join(''))
  return file
}

/** MariaDB looks for the scripts of its state transfers there. */
function pathWithTransfers(): string {
  return [dirname(findProgram('wsrep_sst_mariabackup')), process.env['PATH'] ?? ''].join(delimiter)
}

/** False if the node ended. */
async function isSynced(
  identity: ProcessIdentity,
  member: GaleraMember,
  cluster: GaleraCluster,
  home: string,
): Promise<boolean> {
  const probe = async () => {
    if (!isRunning(identity)) return 'ended'
    const uri = galeraRootUrl(cluster, member)
    const connection = await createConnection({ uri, connectTimeout: PROBE_TIMEOUT_MS })
    try {
      const sql = "show status like 'wsrep_local_state'"
      const [rows] = await connection.query<RowDataPacket[]>({ sql, timeout: PROBE_TIMEOUT_MS })
      return rows[0]?.['Value'] === '4' ? 'synced' : undefined
    } finally {
      // In good order: the end of the log is for what the node says of itself.
      await connection.end().catch(() => connection.destroy())
    }
  }
  const state = await waitFor(`node ${member.name}`, probe, READY_LIMIT_MS).catch(
    (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      throw failureOf(member, `is not synced (${reason})`, home)
    },
  )
  return state === 'synced'
}

function failureOf({ name }: GaleraMember, what: string, home: string): Failure {
  return new Failure('unavailable', `Node ${name} ${what}: ${logTail(`${home}/mariadb.log`)}`)
}
