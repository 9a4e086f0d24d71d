import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { type CellId, newId } from '#common/ids.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { applyHostViews } from './host-index.ts'
import { listHosts } from './host-list.ts'

const cell = newId<CellId>()
let db: Database

beforeAll(async () => {
  const url = await freshDatabase('host_index')
  await migrateDatabase(url, 'gateway/db/migrations')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

test('news of hosts takes no serial: a new host has the next one', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => sampleHost(name))
  const tell = (...views: Parameters<typeof applyHostViews>[2][]) =>
    Promise.all(views.map((each) => db.transaction((tx) => applyHostViews(tx, cell, each))))

  await tell([a!, b!])
  for (let version = 2; version < 30; version += 1)
    await tell([
      { ...a!, version, isUp: false },
      { ...b!, version },
    ])
  await tell([c!, { ...b!, version: 5, isUp: false }])

  const hosts = await listHosts(db)
  const [first] = hosts
  expect(hosts.map(({ serial }) => serial - first!.serial)).toEqual([0, 1, 2])
  const shown = new Map(hosts.map(({ view }) => [view.name, view]))
  expect(shown.get('a')).toEqual({ ...a, version: 29, isUp: false })
  expect(shown.get('b')).toMatchObject({ version: 29, isUp: true })
})
