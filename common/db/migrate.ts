import { drizzle } from 'drizzle-orm/mysql2'
import { migrate } from 'drizzle-orm/mysql2/migrator'
import { createConnection } from 'mysql2/promise'

const LOCK_WAIT_S = 60

/** Afterwards the database exists and has every migration of the folder. Any number of processes may call it at once. */
export async function migrateDatabase(url: string, migrationsFolder: string): Promise<void> {
  const { pathname } = new URL(url)
  const name = decodeURIComponent(pathname.slice(1))
  if (!/^[A-Za-z0-9_]+$/.test(name)) throw new Error(`Database name '${name}' is not plain`)
  const server = new URL(url)
  server.pathname = ''
  const connection = await createConnection({ uri: server.href })
  try {
    await connection.query(
      `CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    )
    await connection.query(`USE \`${name}\``)
    await connection.query('SELECT GET_LOCK(?, ?)', [`migrate:${name}`, LOCK_WAIT_S])
    await migrate(drizzle(connection), { migrationsFolder })
  } finally {
    await connection.end()
  }
}
