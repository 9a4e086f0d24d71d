import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { type Mariadb, runningMariadb, startMariadb, stopMariadb } from './mariadb.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-mariadb-'))
let first: Mariadb

beforeAll(async () => {
  first = await startMariadb(directory, 'with-parent')
})

afterAll(async () => {
  await stopMariadb(directory)
  rmSync(directory, { recursive: true })
})

async function query(text: string): Promise<readonly RowDataPacket[]> {
  const connection = await createConnection({ uri: first.rootUrl() })
  try {
    const [rows] = await connection.query<RowDataPacket[]>(text)
    return rows
  } finally {
    await connection.end()
  }
}

test('startMariadb() makes every commit durable', async () => {
  const rows = await query('SELECT @@innodb_flush_log_at_trx_commit AS flush')

  expect(rows).toEqual([{ flush: 1 }])
})

test('startMariadb() leaves no account without a password', async () => {
  const rows = await query(
    `SELECT User, Host FROM mysql.global_priv WHERE NOT JSON_VALUE(Priv, '$.account_locked') <=> '1'
     AND COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = ''`,
  )

  expect(rows).toEqual([])
})

test('startMariadb() leaves a running server as it is', async () => {
  const again = await startMariadb(directory, 'with-parent')

  expect(again.process).toEqual(first.process)
})

test('startMariadb() keeps its secrets from other users', () => {
  const modes = ['settings.json', 'accounts.sql', 'mariadb.cnf'].map(
    (file) => statSync(join(directory, file)).mode & 0o777,
  )

  expect(modes).toEqual([0o600, 0o600, 0o600])
})

test('values are stored as given in a database whose operator disables backslash escapes', async () => {
  await query('CREATE DATABASE backslashes')
  await query("SET GLOBAL sql_mode = concat(@@global.sql_mode, ',NO_BACKSLASH_ESCAPES')")
  await using db = new Database({ url: first.rootUrl('backslashes'), connectionsMax: 1 })
  await db.orm.execute(sql`create table notes (id int primary key, text varchar(100))`)
  const insert = sqlStatement(
    sql`insert into notes (id, text) values (${sql.placeholder('id')}, ${sql.placeholder('text')})`,
  )
  const texts = [`it's "so"`, `\\' , (9, 'stolen') -- `, `\\`, `'), (9, 'stolen'); -- `]

  // Two statements of a transaction go together, as text with their values in it; the builder's by themselves.
  await db.transaction((tx) => {
    texts.forEach((text, id) => {
      tx.queue(insert, { id, text })
    })
  })
  await db.orm.execute(sql`update notes set text = concat(text, ${`'\\`})`)

  const notes = sqlStatement(sql`select id, text from notes order by id`)
  expect(await db.rows(notes, {})).toEqual(texts.map((text, id) => ({ id, text: `${text}'\\` })))
})

test('startMariadb() serves the same data on the same port after a stop', async () => {
  await query('CREATE DATABASE kept')
  await stopMariadb(directory)
  expect(runningMariadb(directory)).toBeUndefined()

  const second = await startMariadb(directory, 'with-parent')

  expect(second.port).toBe(first.port)
  expect(second.process).not.toEqual(first.process)
  expect(await query("SHOW DATABASES LIKE 'kept'")).toHaveLength(1)
})
