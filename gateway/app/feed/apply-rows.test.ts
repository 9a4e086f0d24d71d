import { and, asc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { ActionEvent, FeedBody } from '#openapi/wire/feed.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { emitRows } from '#test/env/emitted-rows.ts'
import {
  activeView,
  addCell,
  addServer,
  globalDatabase,
  sampleMigration,
} from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { findServer } from '../../db/find-server.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { hostIndex } from '../../db/schema/cells.ts'
import { eventInbox } from '../../db/schema/events.ts'
import {
  instanceMappings,
  serverActionEvents,
  serverActions,
  serverMigrations,
} from '../../db/schema/servers.ts'
import { listTraces } from '../../db/traces.ts'
import { endedWork } from './apply-rows.ts'

// Goal: rows come late, twice, in any order or forged, and only the newest of the cell that has the server counts.

let db: Database
let cell: CellId
let other: CellId

beforeAll(async () => {
  db = await globalDatabase('apply_rows')
  cell = await addCell(db, 'north')
  other = await addCell(db, 'south')
})
beforeEach(() => db.orm.delete(eventInbox))
afterAll(() => db?.[Symbol.asyncDispose]())

const emit = (bodies: readonly FeedBody[]) => emitRows(db, cell, bodies)

const instance = (...given: Parameters<typeof activeView>): FeedBody => {
  return { kind: 'instance', view: activeView(...given) }
}

async function eventsOf(type: string) {
  const rows = await db.orm
    .select()
    .from(eventInbox)
    .where(eq(eventInbox.type, type))
    .orderBy(asc(eventInbox.id))
  return rows.map(({ serverId, details }) => ({
    serverId,
    ...(JSON.parse(details) as Record<string, unknown>),
  }))
}

test('the newest of several views of a server counts, in any order, with one event', async () => {
  const server = await addServer(db, cell, 2)

  await emit([
    instance(server, { attempt: 2, version: 4, vmState: 'stopped', powerState: 4 }),
    instance(server, { attempt: 2, version: 3 }),
    instance(server, { attempt: 1, version: 9, vmState: 'paused' }),
  ])

  expect(await findServer(db, server)).toMatchObject({ vmState: 'stopped', version: 4, attempt: 2 })
  expect(await eventsOf('server.state')).toEqual([
    {
      serverId: server,
      state: 'stopped',
      taskState: null,
      powerState: 'shutdown',
      host: 'host-1',
      message: null,
    },
  ])
})

test('views of different servers are all applied', async () => {
  const servers = await Promise.all([addServer(db, cell), addServer(db, cell)])

  const { bound } = await emit(servers.map((server) => instance(server)))

  for (const server of servers)
    expect(await findServer(db, server)).toMatchObject({ vmState: 'active' })
  expect(bound.toSorted()).toEqual(servers.toSorted())
})

test('a fault is recorded with its message, and a power state without a name as none', async () => {
  const server = await addServer(db, cell)
  const fault = { code: 500, message: 'No disk.', details: null, at: 1 }

  await emit([instance(server, { vmState: 'error', powerState: 99, fault: fault as never })])

  expect(await eventsOf('server.state')).toMatchObject([
    { state: 'error', powerState: 'nostate', message: 'No disk.' },
  ])
})

test('a view of a server of another cell, or of another attempt, has no effect and no event', async () => {
  const [others, older] = [await addServer(db, other), await addServer(db, cell, 2)]

  await emit([instance(others), instance(older, { attempt: 1 }), instance(newId())])

  expect(await findServer(db, others)).toMatchObject({ vmState: 'building' })
  expect(await findServer(db, older)).toMatchObject({ vmState: 'building' })
  expect(await eventsOf('server.state')).toEqual([])
})

test('the first password is erased, and ports are bound, once the guest has run and not before', async () => {
  const server = await addServer(db, cell)
  const password = async () => (await findRequestSpec(db, server))?.sealedPassword

  const before = await emit([instance(server, { vmState: 'building', launchedAt: null })])
  expect(before.bound).toEqual([])
  expect(await password()).toBe('sealed')

  const after = await emit([instance(server, { version: 3 })])
  expect(after.bound).toEqual([server])
  expect(await password()).toBeNull()
})

test('a deleted server goes once its cell says so, if it was being deleted at that attempt', async () => {
  const [going, staying, later] = await Promise.all([
    addServer(db, cell),
    addServer(db, cell),
    addServer(db, cell, 2),
  ])
  for (const server of [going, later])
    await db.orm
      .update(instanceMappings)
      .set({ isDeleting: true })
      .where(eq(instanceMappings.serverId, server))
  const deleted = (serverId: string): FeedBody => ({ kind: 'deleted', serverId, attempt: 1, at: 1 })

  const { released } = await emit([going, staying, later, going].map(deleted))

  expect(released).toEqual([going])
  expect(await findMapping(db, going)).toBeUndefined()
  expect(await findMapping(db, staying)).toBeDefined()
  expect(await findMapping(db, later)).toBeDefined()
})

test('deletes of two attempts of a server are two changes', async () => {
  const server = await addServer(db, cell, 2)
  await db.orm
    .update(instanceMappings)
    .set({ isDeleting: true })
    .where(eq(instanceMappings.serverId, server))
  const deleted = (attempt: number): FeedBody => ({
    kind: 'deleted',
    serverId: server,
    attempt,
    at: 1,
  })

  expect((await emit([deleted(2), deleted(1)])).released).toEqual([server])
})

test('a server that was given up is marked with the last reason, and the caller learns so', async () => {
  const server = await addServer(db, cell, 2)
  const notBuilt = (attempt: number, reason: string): FeedBody => {
    return { kind: 'not-built', serverId: server, attempt, reason, at: 1 }
  }

  expect(
    await emit([notBuilt(2, 'full'), notBuilt(2, 'broken'), notBuilt(1, 'old')]),
  ).toMatchObject({
    hasNotBuilt: true,
  })
  expect(await findMapping(db, server)).toMatchObject({
    isNotBuilt: true,
    notBuiltReason: 'broken',
  })
  expect(await emit([instance(server)])).toMatchObject({ hasNotBuilt: false })
})

const trace = (chosen: string, change: Partial<Trace> = {}): Trace => ({
  at: 1_000,
  level: 'hosts',
  considered: 1,
  filters: [],
  scores: [],
  lostClaims: [],
  chosen,
  tookMs: 0,
  ...change,
})

test('decisions about hosts are kept at their attempt, each once; those about cells are the gateway’s own', async () => {
  const [server, foreign] = [await addServer(db, cell, 2), await addServer(db, other)]
  const row = (serverId: string, attempt: number, what: Trace): FeedBody => {
    return { kind: 'trace', serverId, attempt, trace: what }
  }

  await emit([
    row(server, 2, trace('first')),
    row(server, 2, trace('again')),
    row(server, 2, trace('later', { at: 2_000 })),
    row(server, 1, trace('stale')),
    row(server, 2, trace('cell', { level: 'cells' })),
    row(foreign, 1, trace('forged')),
  ])

  const kept = await listTraces(db, server)
  expect(kept.map((each) => [each.attempt, each.trace.chosen])).toEqual([
    [2, 'again'],
    [2, 'later'],
  ])
  expect(await listTraces(db, foreign)).toEqual([])
})

function step(serverId: string, change: Partial<ActionEvent> = {}): FeedBody {
  const event: ActionEvent = {
    serverId,
    requestId: 'req-1',
    event: 'compute_start_instance',
    startedAt: 1_000,
    finishedAt: null,
    result: null,
    host: null,
    details: null,
    ...change,
  }
  return { kind: 'action-event', event }
}

test('steps of actions are kept each once, in their last form, with events for their ends', async () => {
  const [server, foreign] = [await addServer(db, cell), await addServer(db, other)]
  const ended = { finishedAt: 2_000, result: 'Success', host: 'host-1' } as const

  await emit([
    step(server),
    step(server, ended),
    step(server, { requestId: 'req-2' }),
    step(server, { event: 'compute_stop_instance' }),
    step(server, { startedAt: 5_000 }),
    step(foreign, ended),
  ])

  const kept = await db.orm
    .select()
    .from(serverActionEvents)
    .where(eq(serverActionEvents.serverId, server))
  expect(kept).toHaveLength(4)
  expect(kept.filter(({ result }) => result === 'Success')).toHaveLength(1)
  expect(await eventsOf('server.step')).toMatchObject([{ serverId: server, result: 'success' }])
  const forged = eq(serverActionEvents.serverId, foreign)
  expect(await db.orm.select().from(serverActionEvents).where(forged)).toEqual([])
})

test('an action that a cell began of its own accord is recorded as that of no user', async () => {
  const [server, foreign] = [await addServer(db, cell), await addServer(db, other)]
  const own = {
    requestId: 'req-own',
    action: 'stop',
    finishedAt: 2_000,
    result: 'Success',
  } as const

  await emit([step(server, own), step(foreign, own), step(newId(), own)])

  const rows = await db.orm
    .select()
    .from(serverActions)
    .where(eq(serverActions.requestId, 'req-own'))
  expect(rows).toMatchObject([{ serverId: server, action: 'stop', userId: null, message: null }])
})

test('an action of the cell itself that went wrong is recorded so', async () => {
  const server = await addServer(db, cell)
  const own = {
    requestId: 'req-wrong',
    action: 'stop',
    finishedAt: 2_000,
    result: 'Error',
  } as const

  await emit([step(server, own)])

  const rows = await db.orm
    .select()
    .from(serverActions)
    .where(eq(serverActions.requestId, 'req-wrong'))
  expect(rows).toMatchObject([{ serverId: server, message: 'Error' }])
  expect(await eventsOf('server.action')).toMatchObject([
    { serverId: server, message: 'Error', result: 'error' },
  ])
})

test('an action of the cell itself on a server that is gone is not recorded', async () => {
  const server = await addServer(db, cell)
  await db.orm
    .update(instanceMappings)
    .set({ isDeleting: true })
    .where(eq(instanceMappings.serverId, server))

  await emit([
    { kind: 'deleted', serverId: server, attempt: 1, at: 1 },
    step(server, { requestId: 'req-gone', action: 'stop' }),
  ])

  expect(await findMapping(db, server)).toBeUndefined()
  expect(await eventsOf('server.action')).toEqual([])
})

test('work that ended has one event, with its error; unfinished work has none', () => {
  const [done, failed, going] = [newId<string>(), newId<string>(), newId<string>()]
  const bodies = [
    step(done),
    step(done, { finishedAt: 2_000, result: 'Success', host: 'host-1', traceId: 'a'.repeat(32) }),
    step(failed, { finishedAt: 2_000, result: 'Error', details: 'no disk' }),
    step(going),
  ]
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))
  const work = { request_id: 'req-1', work: 'compute_start_instance' }

  expect(endedWork(rows)).toStrictEqual([
    { server_id: done, ...work, trace_id: 'a'.repeat(32), host: 'host-1', result: 'Success' },
    { server_id: failed, ...work, host: null, result: 'Error', error: 'no disk' },
  ])
})

test('the newest of several views of a migration counts, in any order', async () => {
  const [server, foreign] = [await addServer(db, cell), await addServer(db, other)]
  const migration = (serverId: string, id: string, version: number, status: string): FeedBody => ({
    kind: 'migration',
    view: sampleMigration(serverId, { id, version, status: status as MigrationView['status'] }),
  })
  const [id, second, forged] = [newId<string>(), newId<string>(), newId<string>()]

  await emit([
    migration(server, id, 3, 'finished'),
    migration(server, id, 2, 'migrating'),
    migration(server, second, 1, 'accepted'),
    migration(foreign, forged, 1, 'accepted'),
  ])

  const statusOf = async (uuid: string) =>
    (await db.orm.select().from(serverMigrations).where(eq(serverMigrations.uuid, uuid)))[0]?.status
  expect(await statusOf(id)).toBe('finished')
  expect(await statusOf(second)).toBe('accepted')
  expect(await statusOf(forged)).toBeUndefined()
})

test('the newest of several views of a host counts, in any order', async () => {
  const one = sampleHost('one')
  const two = sampleHost('two')

  await emit([
    { kind: 'host', view: { ...one, version: 3, zone: 'newest' } },
    { kind: 'host', view: { ...one, version: 2, zone: 'older' } },
    { kind: 'host', view: two },
  ])

  const shown = await db.orm
    .select({ name: hostIndex.name, version: hostIndex.version, view: hostIndex.view })
    .from(hostIndex)
    .where(and(eq(hostIndex.cellId, cell)))
    .orderBy(asc(hostIndex.name))
  expect(shown).toMatchObject([
    { name: 'one', version: 3, view: { zone: 'newest' } },
    { name: 'two', version: 1 },
  ])
})
