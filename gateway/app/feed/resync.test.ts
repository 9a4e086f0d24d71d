import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { addVolume, volumeView } from '#test/env/fed-volumes.ts'
import {
  activeView,
  addCell,
  addServer,
  globalDatabase,
  notedNetwork,
  sampleMigration,
} from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { readFeedPosition, requestResync } from '../../db/cell-mappings.ts'
import { findServer } from '../../db/find-server.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { countMissing } from '../../db/missing-servers.ts'
import { hostIndex } from '../../db/schema/cells.ts'
import { instanceMappings, serverMigrations } from '../../db/schema/servers.ts'
import { findVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { resync } from './resync.ts'

// Goal: after a full copy the index shows what the cell holds, and nothing is deleted by it.

type Page = CellAnswer<'snapshot.read'>
type Hosts = CellAnswer<'snapshot.hosts'>

const INCARNATION = newId<string>()
const NO_VOLUMES = { position: 7, snapshots: [], isLast: true }
const NONE = { incarnation: null, position: 0, needsResync: false }

let db: Database
let id: CellId
let name: string

beforeAll(async () => {
  db = await globalDatabase('resync')
})
beforeEach(async () => {
  name = newId()
  id = await addCell(db, name)
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** A cell that holds these pages of instances and of hosts, and what it was asked. */
function cellWith(
  pages: readonly Partial<Page>[],
  hostPages: readonly Partial<Hosts>[] = [{}],
  volumes: readonly VolumeView[] = [],
) {
  const asked: { operation: string; ask: unknown; work: unknown }[] = []
  const logged: { level: string; fields: object; message: string }[] = []
  const left = { read: [...pages], hosts: [...hostPages] }
  const askCell = async (
    _cell: unknown,
    operation: string,
    ask: unknown,
    { work }: { readonly work: unknown },
  ) => {
    asked.push({ operation, ask, work })
    await Promise.resolve()
    if (operation === 'snapshot.read')
      return {
        incarnation: INCARNATION,
        position: 7,
        instances: [],
        isLast: left.read.length === 1,
        ...left.read.shift(),
      }
    if (operation === 'snapshot.volumes' || operation === 'snapshot.volume-snapshots')
      return { ...NO_VOLUMES, volumes, incarnation: pages[0]?.incarnation ?? INCARNATION }
    if (operation === 'snapshot.hosts')
      return {
        incarnation: INCARNATION,
        hosts: [],
        isLast: left.hosts.length === 1,
        ...left.hosts.shift(),
      }
    return { outcome: 'deleted' }
  }
  const at = (level: string) => (fields: object, message: string) => {
    logged.push({ level, fields, message })
  }
  const noted = notedNetwork()
  const deps = { db, askCell, log: { info: at('info'), warn: at('warn') }, network: noted.network }
  const of = (operation: string) =>
    asked.filter((each) => each.operation === operation).map(({ ask }) => ask)
  const run = (was: Parameters<typeof resync>[2] = NONE) =>
    resync(deps as unknown as ComputeDeps, { id, name }, was)
  return { run, of, asked, logged, bound: noted.bound }
}

/** Servers of the cell, ordered by id, as the cell pages through them. */
async function servers(count: number): Promise<readonly string[]> {
  return (await Promise.all(Array.from({ length: count }, () => addServer(db, id)))).toSorted()
}

const position = async () => (await readFeedPosition(db, id))!

test('pages follow each other, and the feed continues at the position of the first page', async () => {
  const [a, b, c] = (await servers(3)) as [string, string, string]
  const cell = cellWith([
    { instances: [activeView(a), activeView(b)] },
    { instances: [activeView(c, { vmState: 'stopped' })], position: 99 },
  ])

  const done = await cell.run()

  expect(done).toEqual({
    position: { incarnation: INCARNATION, position: 7, needsResync: false },
    report: { instances: 3, missing: 0 },
  })
  expect(await position()).toEqual(done.position)
  expect(cell.asked.slice(2).map(({ operation }) => operation)).toEqual([
    'snapshot.hosts',
    'snapshot.volume-snapshots',
    'snapshot.volumes',
  ])
  expect(cell.of('snapshot.read')).toEqual([
    { afterInstance: null, limit: 500 },
    { afterInstance: b, limit: 500 },
  ])
  expect(await findServer(db, c)).toMatchObject({ vmState: 'stopped' })
  expect(cell.bound).toEqual([a, b, c])
  expect(cell.logged).toEqual([
    { level: 'info', fields: { cell: name, instances: 3, missing: 0 }, message: 'cell resynced' },
  ])
})

test('the ports of a server that has not run are not bound', async () => {
  const [a] = (await servers(1)) as [string]
  const cell = cellWith([{ instances: [activeView(a, { launchedAt: null })] }])

  await cell.run()

  expect(cell.bound).toEqual([])
})

test('servers that no page has are missing, wherever they would have been, and have events', async () => {
  const all = await servers(7)
  await cellWith([{ instances: all.map((each) => activeView(each)) }]).run()
  const has = [1, 3, 5].map((index) => activeView(all[index]!, { version: 9 }))
  const cell = cellWith([
    { instances: has.slice(0, 2) },
    { instances: has.slice(2), isLast: false },
    { instances: [] },
  ])

  const { report } = await cell.run(await position())

  expect(report).toEqual({ instances: 3, missing: 4 })
  expect((await countMissing(db)).get(id)).toBe(4)
  expect(cell.logged.map(({ level }) => level)).toEqual(['warn'])
})

test('a view may be older than the known one only if it comes from another incarnation', async () => {
  const [a] = (await servers(1)) as [string]
  await cellWith([{ instances: [activeView(a, { version: 9 })] }]).run()
  const older: InstanceView[] = [activeView(a, { version: 3, vmState: 'stopped' })]

  await cellWith([{ instances: older }]).run(await position())
  expect(await findServer(db, a)).toMatchObject({ vmState: 'active', version: 9 })

  const incarnation = newId<string>()
  await cellWith([{ instances: older, incarnation }], [{ incarnation }]).run(await position())
  expect(await findServer(db, a)).toMatchObject({ vmState: 'stopped', version: 3 })
})

test('a view of a volume may be older, too, only if it comes from another incarnation', async () => {
  const volume = await addVolume(db, { cellId: id, projectId: newId() })
  const shown = async () => (await findVolume(db, volume))?.cellVersion
  await cellWith([{}], [{}], [volumeView(volume, { version: 9 })]).run()
  const older = [volumeView(volume, { version: 4 })]

  await cellWith([{}], [{}], older).run(await position())
  expect(await shown()).toBe(9)

  const incarnation = newId<string>()
  await cellWith([{ incarnation }], [{ incarnation }], older).run(await position())
  expect(await shown()).toBe(4)
})

test.each([
  ['instances', [{ isLast: false }, { incarnation: newId<string>() }], [{}]],
  ['hosts', [{}], [{ incarnation: newId<string>() }]],
] as const)(
  'a cell that changes its database between pages of %s is copied again later',
  async (_what, pages, hostPages) => {
    const [a] = (await servers(1)) as [string]
    const first = { instances: [activeView(a)], ...pages[0] }

    await expect(cellWith([first, ...pages.slice(1)], hostPages).run()).rejects.toMatchObject({
      kind: 'unavailable',
      message: `Cell ${name} changed its database meanwhile.`,
    })

    expect(await position()).toMatchObject({ incarnation: null, position: 0 })
  },
)

test('a copy that another process has overtaken changes nothing', async () => {
  const [a] = (await servers(1)) as [string]
  const was = await position()
  await cellWith([{ position: 20 }]).run(was)

  await expect(cellWith([{ instances: [activeView(a)] }]).run(was)).rejects.toThrow()

  expect(await findServer(db, a)).toMatchObject({ vmState: 'building' })
  expect(await position()).toMatchObject({ position: 20 })
})

test('a resync that an operator asks for ends with the copy', async () => {
  await requestResync(db, id)
  const was = await position()
  expect(was).toMatchObject({ needsResync: true })

  await cellWith([{}]).run(was)

  expect(await position()).toMatchObject({ needsResync: false, incarnation: INCARNATION })
})

test('a server that is over is ended in the cell that has it still; others are left alone', async () => {
  const [going, staying, never] = [
    await addServer(db, id),
    await addServer(db, id),
    newId<string>(),
  ]
  await db.orm
    .update(instanceMappings)
    .set({ attempt: 2 })
    .where(eq(instanceMappings.serverId, going))
  const has = [going, staying, never].map((each) => activeView(each))
  const cell = cellWith([{ instances: has }])

  await cell.run()

  expect(cell.of('instance.delete')).toEqual([
    { operation: { id: expect.any(String) as string, serverId: going, attempt: 1 } },
  ])
  for (const { work } of cell.asked) expect(work).toHaveProperty('requestId')
  expect(cell.logged[0]).toEqual({
    level: 'warn',
    fields: { cell: name, server_id: going, attempt: 1 },
    message: 'ended a server that the cell should not have',
  })
})

test('migrations of the cell’s own servers are kept, and no others', async () => {
  const own = await addServer(db, id)
  const foreign = await addServer(db, await addCell(db, newId()))

  await cellWith([{ migrations: [own, foreign].map((each) => sampleMigration(each)) }]).run()

  const kept = await db.orm.select().from(serverMigrations)
  expect(kept.map(({ serverId }) => serverId)).toEqual([own])
})

const hostsShown = async () =>
  (await db.orm.select().from(hostIndex).where(eq(hostIndex.cellId, id))).map((row) => [
    row.name,
    row.version,
  ])

test('hosts are read page by page, each after the last of the one before', async () => {
  const [one, two, three] = ['one', 'two', 'three'].map((each) => sampleHost(each)) as [
    HostView,
    HostView,
    HostView,
  ]
  const cell = cellWith([{}], [{ hosts: [one] }, { hosts: [two, three] }])

  await cell.run()

  expect(cell.of('snapshot.hosts')).toEqual([{ afterHost: null }, { afterHost: one.hostId }])
  expect(new Set((await hostsShown()).map(([shown]) => shown))).toEqual(
    new Set(['one', 'two', 'three']),
  )
})

test('versions of hosts begin again with another incarnation, and only then', async () => {
  const host = sampleHost('one', { version: 9 })
  await cellWith([{}]).run()
  await db.transaction((tx) => applyHostViews(tx, id, [host]))
  const restored = { hosts: [{ ...host, version: 2 }] }

  await cellWith([{}], [restored]).run(await position())
  expect(await hostsShown()).toEqual([['one', 9]])

  const incarnation = newId<string>()
  await cellWith([{ incarnation }], [{ ...restored, incarnation }]).run(await position())
  expect(await hostsShown()).toEqual([['one', 2]])
})

test.each(['instances', 'hosts'])(
  'a cell whose pages of %s never end is given up',
  async (what) => {
    const instances = [activeView(newId())]
    const endless = Array.from({ length: 10_001 }, () => ({ isLast: false, instances }))
    using transaction = vi.spyOn(db, 'transaction')
    using rows = vi.spyOn(db, 'rows')
    transaction.mockResolvedValue(0)
    rows.mockResolvedValue([])

    const cell = what === 'hosts' ? cellWith([{}], endless) : cellWith(endless)

    await expect(cell.run()).rejects.toMatchObject({
      kind: 'unavailable',
      message: `Cell ${name} has more rows than a copy can have.`,
    })
  },
)
