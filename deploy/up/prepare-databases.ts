import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTableThere } from '#common/db/failures.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { databaseUser } from '../mariadb/database-user.ts'
import { projectRoot } from '../paths.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { explained } from './check-databases.ts'
import { type Databases, writerOf } from './services.ts'

const PASSWORD_BYTES = 24

/** Paths of files that each hold one database URL (0600). */
export interface DatabaseFiles {
  readonly gateway: string
  /** By cell id. */
  readonly cells: ReadonlyMap<string, string>
}

/** Afterwards the global database and every cell's are migrated, each with an account that opens it alone. */
export async function prepareDatabases(
  layout: Layout,
  databases: Databases,
  state: DeploymentState,
): Promise<DatabaseFiles> {
  const gateway = await prepare(layout, databases, { database: 'weir', component: 'gateway' })
  return { gateway, cells: await prepareCellDatabases(layout, databases, state) }
}

/** Those of the cells alone, by cell id. */
export async function prepareCellDatabases(
  layout: Layout,
  databases: Databases,
  state: DeploymentState,
): Promise<ReadonlyMap<string, string>> {
  const cells = new Map<string, string>()
  for (const { id, name } of state.cells) {
    const database = cellDatabase(name)
    cells.set(id, await prepare(layout, databases, { database, component: 'cells' }))
  }
  return cells
}

/** The name of a cell's database, and of the account that opens it. */
export function cellDatabase(name: string): string {
  return `weir_cell_${name.replaceAll('-', '_')}`
}

/** Where the password and the URL of a cell's database are kept. */
export function databaseFiles(layout: Layout, cellName: string): readonly string[] {
  const database = cellDatabase(cellName)
  return ['password', 'url'].map((what) => join(layout.secrets, `${database}.${what}`))
}

interface Wanted {
  readonly database: string
  readonly component: 'gateway' | 'cells'
}

async function prepare(layout: Layout, databases: Databases, wanted: Wanted): Promise<string> {
  const { database, component } = wanted
  const passwordFile = await secretFile(layout, `${database}.password`, () =>
    randomBytes(PASSWORD_BYTES).toString('hex'),
  )
  const password = readFileSync(passwordFile, 'utf8')
  await makeAccount(databases, database, password)
  const url = databases.ownUrl(database, password)
  // Rewritten each time: a private MariaDB may have had to take another port.
  const urlFile = join(layout.secrets, `${database}.url`)
  writeFileAtomically(urlFile, url)
  await migrateDatabase(url, join(projectRoot, component, 'db', 'migrations')).catch(
    (cause: unknown) => {
      if (!isTableThere(cause)) throw cause
      throw new Failure(
        'conflict',
        `Database ${database} was created by a release that this one cannot upgrade. To start over, losing its servers: ./weir up --fresh`,
      )
    },
  )
  return urlFile
}

async function makeAccount(
  databases: Databases,
  database: string,
  password: string,
): Promise<void> {
  try {
    await databaseUser(await writerOf(databases), database, password, {
      host: databases.loginsFrom,
    })
  } catch (error) {
    throw explained(error, databases.rootUrl())
  }
}
