import { sql } from 'drizzle-orm'
import { boolean, datetime, json, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Database } from './database.ts'
import { tableLookup } from './table-lookup.ts'

const doors = mysqlTable('doors', {
  id: varchar('id', { length: 16 }).primaryKey(),
  houseId: varchar('house_id', { length: 16 }).notNull(),
  isOpen: boolean('open_now'),
  madeAt: datetime('made_at', { fsp: 3 }),
  keys: json('door_keys').$type<readonly string[]>(),
})

test('rows looked for at once come with one statement, as the query builder reads them', async () => {
  await using db = new Database({ url: await freshDatabase('table_lookup'), connectionsMax: 2 })
  await db.orm.execute(sql`
    create table doors (id varchar(16) primary key, house_id varchar(16), open_now boolean,
      made_at datetime(3), door_keys json)`)
  const front = { id: 'front', houseId: 'a', isOpen: true, madeAt: new Date(1_000), keys: ['k'] }
  const back = { id: 'back', houseId: 'a', isOpen: false, madeAt: new Date(2_000), keys: [] }
  const side = { id: 'side', houseId: 'b', isOpen: null, madeAt: null, keys: null }
  await db.orm.insert(doors).values([front, back, side])
  const lookup = tableLookup(doors, 'houseId')
  const asked: string[] = []
  const rows: Database['rows'] = (statement, values) => {
    asked.push(statement.text)
    return db.rows(statement, values)
  }
  const counted = { orm: db.orm, run: db.run.bind(db), rows }

  const [ofA, ofB, ofC] = await Promise.all(['a', 'b', 'c'].map((id) => lookup.all(counted, id)))

  expect(ofA!.toSorted((x, y) => (x.id < y.id ? 1 : -1))).toEqual([front, back])
  expect([ofB, ofC]).toEqual([[side], []])
  expect(asked).toHaveLength(1)
  expect(await db.orm.select().from(doors).where(sql`id = 'front'`)).toEqual([front])
})
