import { sql } from 'drizzle-orm'
import { datetime, json, mysqlTable, varbinary, varchar } from 'drizzle-orm/mysql-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Database } from './database.ts'
import { rowsInsert } from './insert-rows.ts'
import { sqlStatement } from './statement.ts'

const notes = mysqlTable('notes', {
  id: varchar('id', { length: 16 }).primaryKey(),
  text: varchar('text', { length: 64 }),
  at: datetime('at', { fsp: 3 }),
  data: json('data'),
  bytes: varbinary('bytes', { length: 16 }),
})

const INSERT = rowsInsert(notes, ['id', 'text', 'at', 'data', 'bytes'])
const ALL = sqlStatement(sql`select id, text, at, data, bytes from notes order by id`)
const PREPARES = sqlStatement(sql`
  select cast(variable_value as unsigned) n from information_schema.session_status
  where variable_name = 'Com_stmt_prepare'`)

let db: Database

beforeAll(async () => {
  db = new Database({ url: await freshDatabase('execute'), connectionsMax: 1 })
  await db.orm.execute(sql`
    create table notes (id varchar(16) primary key, text varchar(64), at datetime(3), data json,
      bytes varbinary(16))`)
})

afterAll(() => db?.[Symbol.asyncDispose]())

const prepares = () =>
  db.transaction(async (tx) => (await tx.rows<{ n: number }>(PREPARES, {}))[0]!.n)

const row = (id: string) => ({ id, text: null, at: null, data: null, bytes: null })

test('compounds of any number of statements leave nothing prepared', async () => {
  await prepares()
  const before = await prepares()

  for (let rows = 2; rows < 12; rows += 1)
    await db.transaction((tx) => {
      for (let each = 0; each < rows; each += 1) INSERT.queue(tx, [row(`${rows}-${each}`)])
    })

  expect(await prepares()).toBe(before)
  await db.orm.delete(notes)
})

test('a compound has the results of its statements one by one', async () => {
  const written = {
    id: 'all',
    text: `what? it's "so" \\ '; drop table notes; -- ü🙂`,
    at: new Date('2026-01-02T03:04:05.678Z'),
    data: { list: ['a', { b: `'"\\?` }], isTrue: true, none: null },
    bytes: Buffer.from([0, 39, 92, 255]),
  }

  const read = await db.transaction((tx) => {
    INSERT.queue(tx, [written, row('none')])
    return tx.rows(ALL, {})
  })

  expect(read).toEqual([written, row('none')])
  expect(await db.rows(ALL, {})).toEqual(read)
})
