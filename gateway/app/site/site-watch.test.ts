import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { secretsOf } from '#common/secrets.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import type { HeardSite, SiteAnnouncement } from '#openapi/wire/site.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { activateSite, beginSites, keepSite, readActiveSite } from '../../db/sites.ts'
import { announcementOf } from './announcement.ts'
import { SiteWatch, type SiteWatchOptions } from './site-watch.ts'

const secrets = secretsOf(randomBytes(32).toString('hex'))
const cellId = newId<CellId>()
const log = createLogger('test', 'silent')
let url: string
let db: Database
let sites: readonly { name: string; url: string; databases: string }[]
let watch: SiteWatch
let hear: (cell: CellId, beat: CellHeartbeat) => void
let told: SiteAnnouncement[]

beforeAll(async () => {
  url = await migratedDatabase('sites', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  const nowhere = `http://127.0.0.1:${await freePort()}`
  sites = ['north', 'south'].map((name) => ({ name, url: nowhere, databases: '' }))
  for (const site of sites) await keepSite(db, site)
  await beginSites(db, 'north', 1)
})

afterAll(() => db[Symbol.asyncDispose]())

beforeEach(async () => {
  await db.transaction((tx) => activateSite(tx, { name: 'north', statement: undefined }))
})

async function open(): Promise<AsyncDisposable> {
  told = []
  const compute = {
    cells: {
      cell: () => ({ id: cellId, name: 'edge' }),
      onHeartbeat: (listener: typeof hear) => {
        hear = listener
        return () => undefined
      },
    },
    askCell: async (_cell: unknown, _operation: string, asked: SiteAnnouncement) => {
      told.push(asked)
    },
  } as unknown as SiteWatchOptions['compute']
  const { generation } = (await readActiveSite(db))!
  const given = { db, clock: systemClock, log, secrets, compute, name: 'north', generation }
  watch = await SiteWatch.open(given)
  return watch
}

const beat = (site?: HeardSite) => ({ ...(site && { site }) }) as CellHeartbeat
const promotionOf = (generation: number, by = secrets) =>
  announcementOf(by, { name: 'south', generation }, sites)!

test('a cell is told which site is active until it knows', async () => {
  await using _watch = await open()

  hear(cellId, beat({ generation: 1 }))
  expect(told).toMatchObject([{ active: 'north', sites: [{ name: 'north' }, { name: 'south' }] }])
  const { generation } = told[0]!
  hear(cellId, beat({ generation, announcement: told[0]! }))
  expect(told).toHaveLength(1)
})

test('a later promotion of which a cell tells ends the turn of the site, and is recorded', async () => {
  await using _watch = await open()
  const generation = watch.announcement!.generation + 1

  hear(cellId, beat({ generation, announcement: promotionOf(generation) }))

  expect(await watch.ended).toMatchObject({ is: 'standby', active: { name: 'south' } })
  await expect
    .poll(() => readActiveSite(db))
    .toMatchObject({ name: 'north', successor: { name: 'south', generation } })
})

test('a promotion that a cell has made up changes nothing', async () => {
  await using _watch = await open()
  const forger = secretsOf(randomBytes(32).toString('hex'))

  hear(cellId, beat({ generation: 900, announcement: promotionOf(900, forger) }))
  hear(cellId, beat({ generation: 900 }))
  hear(cellId, beat({ generation: 900, announcement: promotionOf(1) }))

  expect(await Promise.race([watch.ended, systemClock.sleep(0)])).toBeUndefined()
  expect((await readActiveSite(db))?.successor).toBeUndefined()
})

test('a promotion in the database ends the turn', async () => {
  await using _watch = await open()

  await db.transaction((tx) => activateSite(tx, { name: 'south', statement: 'a test' }))

  expect(await watch.ended).toMatchObject({ is: 'standby', active: { name: 'south' } })
})
