import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { logTail, startProcess } from '../process/start-process.ts'
import { stopGroup } from '../process/stop-process.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

const INSTALL_TIMEOUT_MS = 120_000
/** MariaDB's bootstrap crashes in rare cases on a busy machine. */
const TRIES_MAX = 2

/** Afterwards `data` under `home` holds MariaDB's system tables: whole, or not at all when this was interrupted. */
export async function createData(home: string): Promise<void> {
  await stopCreating(home)
  for (let tries = 1; !existsSync(`${home}/data`); tries += 1) {
    if (tries > TRIES_MAX)
      throw new Failure('unavailable', `MariaDB's tables were not made: ${logTail(logFile(home))}`)
    await create(home)
  }
}

/** The process that creates the tables now; undefined if there is none. */
export function creatingData(home: string): ProcessIdentity | undefined {
  const file = recordFile(home)
  if (!existsSync(file)) return undefined
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity
  return isRunning(recorded) ? recorded : undefined
}

/** Afterwards no process makes the tables any more, also no earlier one. */
export async function stopCreating(home: string): Promise<void> {
  const running = creatingData(home)
  if (running !== undefined) await stopGroup(running)
  rmSync(recordFile(home), { force: true })
}

async function create(home: string): Promise<void> {
  const draft = `${home}/data.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  const identity = await startProcess({
    command: '/bin/sh',
    args: [
      '-c',
      'mariadb-install-db "$@" && mv "$0.new" "$0"',
      `${home}/data`,
      '--no-defaults',
      `--datadir=${draft}`,
      `--user=${userInfo().username}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--skip-name-resolve',
      '--innodb-log-file-size=32M',
      // In the shared /tmp two of these at once meet in a temporary table of one name.
      `--tmpdir=${draft}`,
    ],
    env: process.env,
    directory: home,
    logFile: logFile(home),
    lifetime: 'detached',
    record: (started) => writeFileAtomically(recordFile(home), JSON.stringify(started)),
  })
  const isOver = () => !isRunning(identity)
  await waitFor("MariaDB's tables to be made", isOver, INSTALL_TIMEOUT_MS).catch(() => {})
  await stopCreating(home)
}

function recordFile(home: string): string {
  return `${home}/creating.json`
}

function logFile(home: string): string {
  return `${home}/mariadb-install.log`
}
