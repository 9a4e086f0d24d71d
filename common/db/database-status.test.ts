import { rmSync } from 'node:fs'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '#deploy/process/free-port.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { databaseStatus } from './database-status.ts'
import { withDatabase } from './database-url.ts'
import { migrateDatabase } from './migrate.ts'

const FOLDER = 'cells/db/migrations'

interface Journal {
  readonly entries: readonly { readonly tag: string }[]
}

let directory: string
let url: string
let tags: readonly string[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-status-'))
  url = await freshDatabase('status')
  const text = await readFile(join(FOLDER, 'meta/_journal.json'), 'utf8')
  tags = (JSON.parse(text) as Journal).entries.map(({ tag }) => tag)
})

afterAll(() => rmSync(directory, { recursive: true }))

test('every migration of a database that was not made yet is pending', async () => {
  const { migrations, nodes } = await databaseStatus(withDatabase(url, 'not_made'), FOLDER)

  expect(migrations).toEqual({ applied: [], pending: tags })
  expect(nodes).toEqual([expect.objectContaining({ address: new URL(url).host, state: 'writer' })])
})

test('several who migrate at once leave every migration applied once', async () => {
  await Promise.all([1, 2, 3].map(() => migrateDatabase(url, FOLDER)))

  const { migrations } = await databaseStatus(url, FOLDER)
  expect(migrations).toEqual({ applied: tags, pending: [] })
})

test('a database on several servers is created, too', async () => {
  const closed = `127.0.0.1:${await freePort()}`
  const made = withDatabase(url, `${new URL(url).pathname.slice(1)}_several`)

  await migrateDatabase(made.replace('@', `@${closed},`), FOLDER)

  expect(await databaseStatus(made, FOLDER)).toMatchObject({ migrations: { pending: [] } })
})

test('migrations of a newer release are counted', async () => {
  const older = join(directory, 'older')
  await cp(FOLDER, older, { recursive: true })
  const file = join(older, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(file, 'utf8')) as Journal
  await writeFile(file, JSON.stringify({ entries: journal.entries.slice(0, -1) }))

  expect(await databaseStatus(url, older)).toMatchObject({
    unknownMigrations: 1,
    migrations: { pending: [] },
  })
})

test('a server that does not answer is down, with the reason', async () => {
  const closed = `127.0.0.1:${await freePort()}`
  const { nodes } = await databaseStatus(url.replace('@', `@${closed},`), FOLDER)

  expect(nodes.map(({ address, state }) => [address, state])).toEqual([
    [closed, 'down'],
    [new URL(url).host, 'writer'],
  ])
  expect(nodes[0]?.reason).toContain('ECONNREFUSED')
})

test('where no server answers, the migrations are not known', async () => {
  const closed = `mysql://u:p@127.0.0.1:${await freePort()}/weir`

  expect(await databaseStatus(closed, FOLDER)).toMatchObject({
    database: 'weir',
    migrations: undefined,
  })
})
