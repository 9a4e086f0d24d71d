import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { type CellId, newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import {
  applyHostViews,
  cellsWithRecoveringHosts,
  cellsWithServingHosts,
  indexedHosts,
  ZONES_OF_HOSTS,
} from './host-index.ts'
import { abilitiesOfCells, findHost, hostsByIds, listHosts } from './host-list.ts'
import { beginOperation, endOperation, HOST_DRAIN } from './operations.ts'

const cell = newId<CellId>()
let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('host_index', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

test('news of hosts takes no serial: a new host has the next one', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => sampleHost(name))
  const apply = (...views: Parameters<typeof applyHostViews>[2][]) =>
    Promise.all(views.map((each) => db.transaction((tx) => applyHostViews(tx, cell, each))))

  await apply([a!, b!])
  for (let version = 2; version < 30; version += 1)
    await apply([
      { ...a!, version, isUp: false },
      { ...b!, version },
    ])
  await apply([c!, { ...b!, version: 5, isUp: false }])

  const hosts = await listHosts(db)
  const [first] = hosts
  expect(hosts.map(({ serial }) => serial - first!.serial)).toEqual([0, 1, 2])
  const shown = new Map(hosts.map(({ view }) => [view.name, view]))
  expect(shown.get('a')).toEqual({ ...a, version: 29, isUp: false })
  expect(shown.get('b')).toMatchObject({ version: 29, isUp: true })
})

test('a host that one cell has is refused to every other, and logged once', async () => {
  const owner = newId<CellId>()
  const thief = newId<CellId>()
  await db.run(
    sqlStatement(sql`insert into cell_mappings (id, name, created_at) values
      (${owner}, 'owner', now(3)), (${thief}, 'thief', now(3))`),
    {},
  )
  const host = sampleHost('mine')
  const apply = (cellId: CellId, view: typeof host) =>
    db.transaction((tx) => applyHostViews(tx, cellId, [view]))

  await apply(owner, host)
  await apply(thief, { ...host, version: 50, isUp: false, isForcedDown: true })
  await apply(thief, { ...host, version: 51, name: 'other' })
  await apply(owner, { ...host, version: 2, isDisabled: true, disabledReason: 'mended' })

  expect((await hostsByIds(db, [host.hostId])).map(({ cellId }) => cellId)).toEqual([owner])
  expect((await findHost(db, host.hostId))?.view).toMatchObject({ isUp: true, isDisabled: true })
  const rows = await db.rows<{ cell_id: string; details: string }>(
    sqlStatement(sql`select cell_id, details from event_inbox where cell_id = ${thief}`),
    {},
  )
  expect(rows.map(({ details }) => JSON.parse(details) as unknown)).toEqual([
    { host: 'mine', state: 'refused', message: expect.stringContaining('belongs to cell owner') },
  ])
})

test('of two cells that claim a host at once one has it', async () => {
  const cells = [newId<CellId>(), newId<CellId>()]
  const host = sampleHost('raced')

  await Promise.all(
    cells.map((cellId) => db.transaction((tx) => applyHostViews(tx, cellId, [host]))),
  )

  expect(await hostsByIds(db, [host.hostId, host.hostId])).toHaveLength(1)
})

test('a cell has the abilities of all its hosts that are up', async () => {
  const [one, other] = [newId<CellId>(), newId<CellId>()]
  const able = (name: string, capabilities: string[], isUp = true) => ({
    ...sampleHost(name),
    ...{ capabilities, isUp },
  })
  const apply = (cellId: CellId, ...views: ReturnType<typeof able>[]) =>
    db.transaction((tx) => applyHostViews(tx, cellId, views))
  await apply(one, able('e', ['ovn', 'volumes']), able('f', ['guestMetadata']), able('g', ['ovn']))
  await apply(other, able('h', ['ovn'], false), able('i', []))

  const abilities = await abilitiesOfCells(db)

  expect(abilities.get(one)).toEqual(new Set(['ovn', 'volumes', 'guestMetadata']))
  expect(abilities.get(other)).toEqual(new Set())
})

test('a cell has the zones of all its hosts, and is up where one is up and not forced down', async () => {
  const [one, other] = [newId<CellId>(), newId<CellId>()]
  const apply = (cellId: CellId, views: Parameters<typeof applyHostViews>[2]) =>
    db.transaction((tx) => applyHostViews(tx, cellId, views))
  await apply(one, [
    sampleHost('one-1', { zone: 'east' }),
    sampleHost('one-2', { zone: 'west' }),
    sampleHost('one-3', { zone: 'west', isForcedDown: true }),
    sampleHost('one-4', { zone: 'north', isUp: false }),
    sampleHost('one-5', { zone: 'south', isDeleted: true }),
  ])
  await apply(other, [
    sampleHost('other-1', { isUp: false, isDisabled: true }),
    sampleHost('other-2', { isUp: false, isForcedDown: true }),
  ])

  const hosts = await indexedHosts(db)
  const ofOne = hosts.get(one)!
  expect({ ...ofOne, zones: ofOne.zones.toSorted() }).toEqual({
    isAnyUp: true,
    zones: ['east', 'north', 'west'],
  })
  expect(hosts.get(other)).toEqual({ isAnyUp: false, zones: ['nova'] })
  const recovering = await cellsWithRecoveringHosts(db)
  expect(recovering).toContain(one)
  expect(recovering).not.toContain(other)
})

test('of many hosts an index is read by zones, and no view', async () => {
  const many = Array.from({ length: 2_000 }, (_, nth) => sampleHost(`many-${nth}`))
  await db.transaction((tx) => applyHostViews(tx, newId<CellId>(), many))
  await db.orm.execute('analyze table host_index')

  const [explained] = await db.rows<{ key: string; Extra: string }>(
    sqlStatement(sql`explain ${ZONES_OF_HOSTS}`),
    {},
  )
  expect(explained!.key).toBe('host_index_state')
  expect(explained!.Extra).toContain('Using index for group-by')
})

test('a cell has a serving host while one is up, and neither cordoned, forced down nor drained', async () => {
  const [here, empty] = [newId<CellId>(), newId<CellId>()]
  const host = sampleHost('serves')
  let version = 1
  const serving = async (change: Partial<typeof host>) => {
    version += 1
    await db.transaction((tx) => applyHostViews(tx, here, [{ ...host, ...change, version }]))
    return [...(await cellsWithServingHosts(db, new Set([here, empty])))]
  }

  expect(await serving({})).toEqual([here])
  expect(await serving({ isUp: false })).toEqual([])
  expect(await serving({ isForcedDown: true })).toEqual([])
  expect(await serving({ isDisabled: true })).toEqual([])
  expect(await serving({ isDeleted: true })).toEqual([])
  expect(await serving({})).toEqual([here])

  const drain = { kind: HOST_DRAIN, subjectId: host.hostId, subject: host.name, cellId: here }
  const asked = { userId: 'operator', requestId: 'req-1' }
  const { id } = await db.transaction((tx) => beginOperation(tx, { ...drain, ...asked }))
  expect(await serving({})).toEqual([])
  await db.transaction((tx) => endOperation(tx, id, 'done', null))
  expect(await serving({})).toEqual([here])
  expect(await cellsWithServingHosts(db, new Set())).toEqual(new Set())
})
