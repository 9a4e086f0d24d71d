import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { waitFor } from '#common/wait-for.ts'
import { createData, creatingData, stopCreating } from './mariadb/create-data.ts'
import { type Options, optionFile, privateOptions } from './mariadb/option-file.ts'
import { findProgram } from './process/find-program.ts'
import { freePort } from './process/free-port.ts'
import { isRunning, type ProcessIdentity } from './process/process-identity.ts'
import { type Lifetime, logTail, startProcess } from './process/start-process.ts'
import { stopProcess } from './process/stop-process.ts'
import { writeFileAtomically } from './process/write-file-atomically.ts'

/** A private MariaDB that listens on loopback. */
export interface Mariadb {
  readonly port: number
  readonly process: ProcessIdentity
  /** For creating databases and their users; programs get narrower accounts (`databaseUser`). */
  rootUrl(database?: string): string
}

/** What stays the same over restarts. */
interface Settings {
  readonly port: number
  readonly rootPassword: string
  readonly process?: ProcessIdentity
}

const READY_LIMIT_MS = 60_000
const PROBE_TIMEOUT_MS = 2_000

/**
 * Afterwards a MariaDB serves the data under `directory`, made on first use. One that runs already is left as it
 * is. Port and password are remembered there (0600); a port taken meanwhile is exchanged for a free one. `more`: options
 * beside the usual ones.
 */
export async function startMariadb(
  directory: string,
  lifetime: Lifetime,
  more: Options = [],
): Promise<Mariadb> {
  const home = resolve(directory)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const old = loadSettings(home)
  if (old?.process !== undefined && isRunning(old.process))
    return whenReady(handle(old, old.process), home)
  await createData(home)
  const settings: Settings = {
    port: await freePort(old?.port),
    rootPassword: old?.rootPassword ?? randomBytes(24).toString('hex'),
  }
  const options = privateOptions(home, settings.port)
  writeFileAtomically(
    `${home}/mariadb.cnf`,
    optionFile([...options, ...more, ['init-file', `${home}/accounts.sql`]]),
  )
  writeFileAtomically(`${home}/accounts.sql`, accountsSql(settings.rootPassword))
  const identity = await startProcess({
    command: findProgram('mariadbd'),
    args: [`--defaults-file=${home}/mariadb.cnf`],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    directory: home,
    logFile: `${home}/mariadb.log`,
    lifetime,
    record: (started) => saveSettings(home, { ...settings, process: started }),
  })
  return whenReady(handle(settings, identity), home)
}

/** The MariaDB of this directory if it runs. */
export function runningMariadb(directory: string): Mariadb | undefined {
  const settings = loadSettings(resolve(directory))
  if (settings?.process === undefined || !isRunning(settings.process)) return undefined
  return handle(settings, settings.process)
}

/** True while a MariaDB serves the directory, or its tables are being made. */
export function isMariadbAtWork(directory: string): boolean {
  return runningMariadb(directory) !== undefined || creatingData(resolve(directory)) !== undefined
}

/** Afterwards no MariaDB serves `directory`, and nothing makes its tables; its data stay. */
export async function stopMariadb(directory: string): Promise<void> {
  await stopCreating(resolve(directory))
  const running = runningMariadb(directory)
  if (running !== undefined) await stopProcess(running.process)
  rmSync(`${resolve(directory)}/mariadbd.pid`, { force: true })
}

function handle(settings: Settings, identity: ProcessIdentity): Mariadb {
  const { port, rootPassword } = settings
  return {
    port,
    process: identity,
    rootUrl: (database = '') => `mysql://root:${rootPassword}@127.0.0.1:${port}/${database}`,
  }
}

/** Also one that ran already: the process that started it may have been killed before it was ready. */
async function whenReady(mariadb: Mariadb, home: string): Promise<Mariadb> {
  const probe = async () => {
    if (!isRunning(mariadb.process)) return 'ended'
    const connection = await createConnection({
      uri: mariadb.rootUrl(),
      connectTimeout: PROBE_TIMEOUT_MS,
    })
    await connection.end()
    return 'ready'
  }
  const state = await waitFor('MariaDB to accept connections', probe, READY_LIMIT_MS)
  if (state === 'ended')
    throw new Error(`MariaDB ended while starting: ${logTail(`${home}/mariadb.log`)}`)
  return mariadb
}

function loadSettings(home: string): Settings | undefined {
  const file = `${home}/settings.json`
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Settings) : undefined
}

function saveSettings(home: string, settings: Settings): void {
  writeFileAtomically(`${home}/settings.json`, JSON.stringify(settings))
}

/**
 * SQL the server runs before it listens: only root exists, over TCP and socket, with this password. Passwords are
 * hexadecimal, so nothing needs quoting.
 */
export function accountsSql(rootPassword: string): string {
  if (!/^[0-9a-f]+$/.test(rootPassword)) throw new Error('The root password is not hexadecimal')
  return [
    "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host NOT IN ('localhost', '127.0.0.1')",
    'FLUSH PRIVILEGES',
    `ALTER USER root@localhost IDENTIFIED BY '${rootPassword}'`,
    `CREATE USER IF NOT EXISTS root@'127.0.0.1'`,
    `ALTER USER root@'127.0.0.1' IDENTIFIED BY '${rootPassword}'`,
    "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
  ]
    .map((line) => `${line};\n`)
    .join('')
}
