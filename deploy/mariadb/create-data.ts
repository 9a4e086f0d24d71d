import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const INSTALL_TIMEOUT_MS = 120_000
/** MariaDB's bootstrap has been seen to crash on a busy machine, once in many starts. */
const TRIES_MAX = 2

/** Afterwards `dataDirectory` holds MariaDB's system tables: whole, or not at all when this was interrupted. */
export async function createData(dataDirectory: string): Promise<void> {
  if (existsSync(dataDirectory)) return
  for (let tries = 1; ; tries += 1) {
    try {
      return await create(dataDirectory)
    } catch (error) {
      if (tries === TRIES_MAX) throw error
    }
  }
}

async function create(dataDirectory: string): Promise<void> {
  const draft = `${dataDirectory}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  await promisify(execFile)(
    'mariadb-install-db',
    [
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
    { timeout: INSTALL_TIMEOUT_MS },
  )
  renameSync(draft, dataDirectory)
}
