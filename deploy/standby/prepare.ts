import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { beginSites, keepSite } from '#gateway/db/sites.ts'
import {
  existingControlPlane,
  FILES,
  type Folders,
  ownAddress,
} from '../control-plane/control-plane.ts'
import { OwnFiles } from '../control-plane/own-files.ts'
import { readSecret } from '../control-plane/shared-files.ts'
import {
  loadSite,
  type SiteFile,
  siteRecord,
  standbyPassword,
} from '../control-plane/site-files.ts'
import type { Options } from '../mariadb/option-file.ts'
import { replicationOptions } from '../mariadb/replication-options.ts'
import { standbyAccount } from '../mariadb/standby-account.ts'

const FIRST_NUMBER = 1
const FIRST_GENERATION = 1
const CONNECTIONS = 2
const SITE_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

/**
 * Afterwards this machine's control plane is the first site of a deployment of several, and active; its database keeps a log
 * of its changes once it was restarted. Safe to repeat, and to be given on each machine of the control plane.
 */
export async function prepareSite(
  folders: Folders,
  name: string,
  report: (line: string) => void,
): Promise<void> {
  const plane = existingControlPlane(folders)
  if (!SITE_NAME.test(name))
    throw new Failure(
      'invalid',
      `--site ${name}: a site is named by up to 32 small letters, digits and hyphens.`,
    )
  if (!plane.hasDatabases)
    throw new Failure(
      'unsupported',
      'The databases of this control plane are elsewhere: a standby is made for those of its own machines.',
    )
  const known = loadSite(folders)
  if (known !== undefined && known.name !== name)
    throw new Failure('conflict', `${folders.directory} is of site ${known.name} already.`)
  const record = siteRecord(name, plane)
  await makeAccount(folders)
  await using db = new Database({
    url: readFileSync(join(folders.directory, FILES.databaseUrl), 'utf8').trim(),
    connectionsMax: CONNECTIONS,
  })
  await keepSite(db, record)
  await beginSites(db, name, FIRST_GENERATION)
  const site: SiteFile = { name, number: FIRST_NUMBER, sites: [record] }
  const files = new OwnFiles(folders, report)
  await files.settings(FILES.site, () => `${JSON.stringify(site, null, 2)}\n`)
  addDatabaseOptions(folders, plane.machines.indexOf(ownAddress(folders)), report)
  addSetting(folders, name, report)
}

/** As root of the database, which may log in on the machine itself. */
async function makeAccount(folders: Folders): Promise<void> {
  const connection = await createConnection({
    socketPath: join(folders.state, 'mariadb', 'data', 'mariadb.sock'),
    user: 'root',
    password: readSecret(folders.directory, 'mariadb.password'),
  }).catch((cause: unknown) => {
    throw new Failure(
      'unavailable',
      'The database of this machine does not answer: start weir-mariadb.',
      {
        cause,
      },
    )
  })
  try {
    for (const sql of standbyAccount(standbyPassword(folders), { isEncrypted: true }))
      await connection.query(sql)
  } finally {
    await connection.end()
  }
}

function addDatabaseOptions(
  { directory }: Folders,
  place: number,
  report: (line: string) => void,
): void {
  const file = join(directory, 'mariadb.cnf')
  const text = readFileSync(file, 'utf8')
  const options = replicationOptions(FIRST_NUMBER, place)
  const missing = options.filter(([option]) => !text.includes(`\n${option}=`))
  if (missing.length > 0)
    // Owner and mode stay as they are. The last value of an option counts, and `skip-log-bin` stands before.
    writeFileSync(file, withOptions(text, missing))
  report(`${missing.length > 0 ? 'changed' : 'kept'}  ${file}`)
}

/** The text with these options at the end of the section of the server, which is the first one. */
function withOptions(text: string, options: Options): string {
  const [server = '', ...others] = text.split(/^(?=\[(?!mariadbd\]))/m)
  const lines = options.map(([option, value]) => `${option}=${value}\n`)
  return [`${server.trimEnd()}\n`, ...lines, ...(others.length > 0 ? ['\n'] : []), ...others].join(
    '',
  )
}

function addSetting({ directory }: Folders, name: string, report: (line: string) => void): void {
  const file = join(directory, FILES.gatewayEnv)
  const isThere = /^GATEWAY_SITE=/m.test(readFileSync(file, 'utf8'))
  if (!isThere) appendFileSync(file, `GATEWAY_SITE=${name}\n`)
  report(`${isThere ? 'kept' : 'changed'}  ${file}`)
}
