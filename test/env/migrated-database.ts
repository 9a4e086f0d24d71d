import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { migrateDatabase } from '#common/db/migrate.ts'
import { freshDatabase } from './fresh-database.ts'
import { type TestServices, testServices } from './services.ts'

/** What makes a database as the migrations do. */
interface Schema {
  readonly database: string
  /** One statement for each table. */
  readonly creates: readonly string[]
  /** The tables that have rows from the beginning. */
  readonly filled: readonly string[]
}

/** By the component. */
const schemas = new Map<string, Promise<Schema>>()

/**
 * The URL of a new database with all migrations of a component, for one test file. On the run's MariaDB its tables are
 * copied from a database that was migrated once in this process, in a third of the time of the migrations.
 */
export async function migratedDatabase(
  name: string,
  component: 'gateway' | 'cells',
  services?: TestServices,
): Promise<string> {
  const url = await freshDatabase(name, services)
  const { databaseRootUrl } = await testServices()
  if (services !== undefined && services.databaseRootUrl !== databaseRootUrl) {
    await migrateDatabase(url, `${component}/db/migrations`)
    return url
  }
  const schema = schemas.get(component) ?? readSchema(component)
  schemas.set(component, schema)
  const { database, creates, filled } = await schema
  const copies = filled.map((table) => `INSERT INTO ${table} SELECT * FROM ${database}.${table}`)
  await connected(url, (connection) =>
    connection.query(['SET foreign_key_checks = 0', ...creates, ...copies].join(';\n')),
  )
  return url
}

async function readSchema(component: string): Promise<Schema> {
  const url = await freshDatabase(`migrated_${component}`)
  await migrateDatabase(url, `${component}/db/migrations`)
  return connected(url, async (connection) => {
    const creates: string[] = []
    const filled: string[] = []
    const [tables] = await connection.query<RowDataPacket[]>('SHOW TABLES')
    for (const table of tables.flatMap((row) => Object.values(row) as string[])) {
      const [shown] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE ${table}`)
      creates.push(shown[0]!['Create Table'] as string)
      const [rows] = await connection.query<RowDataPacket[]>(`SELECT 1 FROM ${table} LIMIT 1`)
      if (rows.length > 0) filled.push(table)
    }
    return { database: new URL(url).pathname.slice(1), creates, filled }
  })
}

async function connected<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection({ uri: url, multipleStatements: true })
  try {
    return await work(connection)
  } finally {
    await connection.end()
  }
}
