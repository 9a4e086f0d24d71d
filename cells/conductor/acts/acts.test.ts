import { eq, inArray } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import type { Database } from '#common/db/database.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { FaultyMethod } from '#drivers/fake/faults.ts'
import type { Act } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { cellEngine, tracesOf, usageOf } from '#test/env/cell-engine.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { findInstance } from '../../db/instances.ts'
import { allocations } from '../../db/schema/placement.ts'
import { migrationsOf } from '../../db/server-migrations.ts'
import { instanceAct } from '../../handlers/instance-act.ts'
import { auditAllocations } from '../../reconcilers/allocation-audit.ts'
import { type ActParams, actSaga, sealedAct } from '../sagas/act.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('acts')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host', vcpus: 4, memoryMb: 100_000, diskGb: 10_000 })
  await cell.waitForHosts(running, 1)
})
afterEach(() => host.driver.faults.set([]))
afterAll(() => cell?.[Symbol.asyncDispose]())

const small = sampleBuild()
const build = (vcpus: number, name = 'm1.large') =>
  sampleBuild({ flavor: { ...small.flavor, id: String(vcpus), name, vcpus } })
const target = () => ({ imageId: newId(), ticket: 'ticket' })
const resize = (vcpus = 2): Act => ({
  name: 'resize',
  build: build(vcpus),
  previous: small.flavor,
  userId: 'user',
})
const back: Act = { name: 'revert-resize', build: small }
const rebuild = (image = newId<string>()): Act => ({
  name: 'rebuild',
  build: sampleBuild({ image: { ...small.image, id: image } }),
  keepsEphemeral: false,
})

const instanceOf = ({ serverId }: OperationRef) =>
  findInstance(running.cell.conductor.db, serverId as InstanceId)

const ask = (operation: OperationRef, act: Act) =>
  cell.ask('instance.act', { operation: { ...operation, id: newId() }, act })

const settled = async (operation: OperationRef) => {
  const instance = await instanceOf(operation)
  return instance === undefined || instance.sagaId !== null ? undefined : instance.vmState
}

async function did(operation: OperationRef, ...acts: readonly Act[]): Promise<unknown> {
  for (const act of acts) {
    await ask(operation, act)
    await expect.poll(() => settled(operation)).toBeDefined()
  }
  return settled(operation)
}

/** VCPUs by who holds them: the server itself, or its migration. */
async function held({ serverId }: OperationRef): Promise<{ server: number; migration: number }> {
  const { db } = running.cell.conductor
  const migrations = (await migrationsOf(db, [serverId])).map(({ id }) => id)
  const rows = await db.orm
    .select()
    .from(allocations)
    .where(inArray(allocations.consumerId, [serverId, ...migrations]))
  const vcpus = rows.filter(({ resourceClass }) => resourceClass === 'VCPU')
  const sum = (isServer: boolean) =>
    vcpus
      .filter(({ consumerId }) => (consumerId === serverId) === isServer)
      .reduce((total, { used }) => total + used, 0)
  return { server: sum(true), migration: sum(false) }
}

const migrationOf = async ({ serverId }: OperationRef) =>
  (await migrationsOf(running.cell.conductor.db, [serverId])).at(-1)?.status

async function gone(operation: OperationRef): Promise<void> {
  await cell.ask('instance.delete', { operation })
  await expect.poll(() => instanceOf(operation)).toBeUndefined()
  expect(await tracesOf(running, [host], operation.serverId)).toEqual([])
  expect(await held(operation)).toEqual({ server: 0, migration: 0 })
  const { held: all, counted } = await usageOf(running)
  expect(counted).toBe(all)
}

/** Does this once, after the first query that it answers. */
function afterFirstRead(db: Database, work: () => Promise<unknown>): Database {
  let isFirst = true
  return new Proxy(db, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...args: unknown[]) => unknown
      if (name !== 'rows') return method
      return async (...args: unknown[]) => {
        const rows = await method(...args)
        if (isFirst) {
          isFirst = false
          await work()
        }
        return rows
      }
    },
  })
}

test('a request that comes twice at once is accepted twice, and carried out once', async () => {
  const operation = await cell.activeServer(small)
  const asked = {
    operation: { ...operation, id: newId<string>() },
    act: { name: 'stop' } as const,
  }
  const { conductor } = running.cell
  const first = () => cell.ask('instance.act', asked)
  const db = afterFirstRead(conductor.db as Database, first)

  const { view } = await instanceAct(
    { ...running.cell, conductor: { ...conductor, db } },
    asked,
    workContext({}),
  )

  expect(view.taskState).toBe('powering-off')
  await expect.poll(() => settled(operation)).toBe('stopped')
  await gone(operation)
})

describe('acts that change the properties of a server', () => {
  test.each(['create-image', 'create-backup'] as const)(
    '%s fills the image once, however often it is asked for',
    async (name) => {
      const operation = await cell.activeServer(small)
      const asked = { operation: { ...operation, id: newId() }, act: { name, target: target() } }

      const { view } = await cell.ask('instance.act', asked)
      await cell.ask('instance.act', asked)

      expect(view.taskState).toBe(name === 'create-image' ? 'image_snapshot' : 'image_backup')
      await expect.poll(() => settled(operation)).toBe('active')
      await cell.ask('instance.act', asked)
      const { imageId } = asked.act.target
      expect(host.filled.filter((each) => each.startsWith(imageId))).toEqual([`${imageId} 512`])
    },
  )

  test('a rebuild shows its image, and a stopped server stays stopped', async () => {
    const operation = await cell.activeServer(small)
    const image = newId<string>()

    expect(await did(operation, rebuild(image))).toBe('active')
    expect(await did(operation, { name: 'stop' }, rebuild())).toBe('stopped')

    const { view } = await cell.waitForFeed(
      'instance',
      (body) => body.view.serverId === operation.serverId && body.view.imageId === image,
    )
    expect(view.vmState).toBe('active')
    expect((await instanceOf(operation))?.powerState).toBe(4)
    expect(await held(operation)).toEqual({ server: 1, migration: 0 })
  })

  test('an image that the host cannot run is refused before anything is lost', async () => {
    const operation = await cell.activeServer(small)
    const image = { ...small.image, properties: {} }
    const act: Act = { name: 'rebuild', build: sampleBuild({ image }), keepsEphemeral: false }

    await expect(ask(operation, act)).rejects.toMatchObject({ kind: 'no-capacity' })

    expect(await settled(operation)).toBe('active')
  })

  test.each([
    ['confirmed', { name: 'confirm-resize' }, { server: 2, migration: 0 }, '2'],
    ['reverted', back, { server: 1, migration: 0 }, '1'],
  ] as const)('a resize holds both sizes until it is %s', async (status, act, after, flavor) => {
    const operation = await cell.activeServer(small)

    expect(await did(operation, resize())).toBe('resized')
    expect(await held(operation)).toEqual({ server: 2, migration: 1 })
    expect([await migrationOf(operation), (await instanceOf(operation))?.flavor?.id]).toEqual([
      'finished',
      '2',
    ])
    expect(await auditAllocations(running.cell)).toEqual({ orphans: 0, corrected: 0, groups: 0 })
    expect(await did(operation, act)).toBe('active')

    expect(await held(operation)).toEqual(after)
    expect([await migrationOf(operation), (await instanceOf(operation))?.flavor?.id]).toEqual([
      status,
      flavor,
    ])
    await gone(operation)
  })

  test.each([
    ['its host has no room for', 1_000],
    ['is more than its host has, but not more than it promises', 5],
  ])('a size that %s is refused, and nothing is held', async (_, vcpus) => {
    const operation = await cell.activeServer(small)

    await expect(ask(operation, resize(vcpus))).rejects.toMatchObject({ kind: 'no-capacity' })

    expect(await held(operation)).toEqual({ server: 1, migration: 0 })
    expect([await settled(operation), await migrationOf(operation)]).toEqual(['active', undefined])
  })

  test('a size whose extra specs its host does not have is refused, and nothing is held', async () => {
    const operation = await cell.activeServer(small)
    const extraSpecs = { 'aggregate_instance_extra_specs:ssd': 'true' }
    const flavor = { ...small.flavor, id: 'ssd', extraSpecs }
    const act = { ...resize(), build: sampleBuild({ flavor }) } as Act

    await expect(ask(operation, act)).rejects.toMatchObject({ kind: 'no-capacity' })

    expect(await held(operation)).toEqual({ server: 1, migration: 0 })
    expect([await settled(operation), await migrationOf(operation)]).toEqual(['active', undefined])
  })

  test('a server is shelved, leaves its host, and comes back to any', async () => {
    const operation = await cell.activeServer(small)
    const saved: Act = { name: 'shelve', target: target() }

    expect(await did(operation, saved)).toBe('shelved')
    expect(await held(operation)).toEqual({ server: 1, migration: 0 })
    expect(await did(operation, { name: 'shelve-offload' })).toBe('shelved_offloaded')
    expect(await tracesOf(running, [host], operation.serverId)).toEqual([
      'instance shelved_offloaded',
    ])
    expect((await instanceOf(operation))?.placed).toBeNull()
    const nowhere = sampleBuild({ zone: 'mars' })
    await expect(ask(operation, { name: 'unshelve', build: nowhere })).rejects.toMatchObject({
      kind: 'no-capacity',
    })
    expect(await did(operation, { name: 'unshelve', build: small })).toBe('active')

    expect(await tracesOf(running, [host], operation.serverId)).toEqual([
      'instance active',
      'allocation',
      'guest on host',
    ])
    await gone(operation)
  })
})

describe('acts that the host cannot carry out', () => {
  const failing = (method: FaultyMethod) =>
    host.driver.faults.set([
      { method, effect: { do: 'fail', kind: 'unsupported', message: 'cannot' } },
    ])

  test.each([
    ['snapshot', [], { name: 'create-image', target: target() }, 'active'],
    ['snapshot', [], { name: 'shelve', target: target() }, 'active'],
    ['rebuild', [], rebuild(), 'error'],
    ['resize', [], resize(), 'active'],
    ['confirmResize', [resize()], { name: 'confirm-resize' }, 'resized'],
    ['revertResize', [resize()], back, 'resized'],
    [
      'spawn',
      [{ name: 'shelve', target: target() }, { name: 'shelve-offload' }],
      { name: 'unshelve', build: small },
      'shelved_offloaded',
    ],
  ] as const)(
    'a failing %s after %j leaves the server where it can go on from',
    async (...given) => {
      const [method, before, act, state] = given
      const operation = await cell.activeServer(small)
      await did(operation, ...(before as readonly Act[]))
      const was = await held(operation)
      failing(method)

      expect(await did(operation, act as Act)).toBe(state)

      expect((await instanceOf(operation))?.fault).toMatchObject({ details: 'cannot' })
      const guest = (await host.driver.list(AbortSignal.timeout(5_000))).find(
        ({ id }) => id === operation.serverId,
      )
      if (state === 'active') expect(guest?.powerState).toBe('running')
      expect(await held(operation)).toEqual(was)
      host.driver.faults.set([])
      await gone(operation)
    },
  )
})

describe('a delete in the middle', () => {
  test.each([
    ['snapshot', { name: 'create-image', target: target() }],
    ['rebuild', rebuild()],
    ['resize', resize()],
  ] as const)('of a hanging %s leaves nothing', async (method, act) => {
    const operation = await cell.activeServer(small)
    host.driver.faults.set([{ method, effect: { do: 'hang' } }])
    await ask(operation, act)

    await gone(operation)
  })

  test.each([
    ['resized', [resize()]],
    ['offloaded', [{ name: 'shelve', target: target() }, { name: 'shelve-offload' }]],
  ] as const)('of a server that is %s leaves nothing', async (_state, acts) => {
    const operation = await cell.activeServer(small)
    await did(operation, ...(acts as readonly Act[]))

    await gone(operation)
  })
})

const SAGAS: readonly (readonly [string, readonly Act[], Act, string, string])[] = [
  ['shelving from a volume', [], { name: 'shelve' }, 'shelved_offloaded', 'active'],
  ['resize', [], resize(), 'resized', 'active'],
  ['confirm', [resize()], { name: 'confirm-resize' }, 'active', 'resized'],
  ['rebuild', [], rebuild(), 'active', 'error'],
  [
    'unshelve',
    [{ name: 'shelve', target: target() }, { name: 'shelve-offload' }],
    { name: 'unshelve', build: small },
    'active',
    'shelved_offloaded',
  ],
]

describe.each(SAGAS)('the saga of %s', (_name, before, act, done, undone) => {
  const paramsOf = async (operation: OperationRef) => {
    const instance = await instanceOf(operation)
    if (instance === undefined) throw new Error('no instance')
    const own = { ...operation, id: newId<string>() }
    const sealed = sealedAct(running.cell.conductor.secrets, own, act)
    const params: ActParams = { operation: own, action: act.name, sealed, instance, startedAt: 1 }
    return { subject: instance.id, params, work: workContext({}) }
  }

  test.each(
    trialsOf(actSaga, (step) => step !== 'take-back').map((trial) => [trial.label, trial] as const),
  )('that %s leaves a server that no saga holds', async (_label, trial) => {
    const operation = await cell.activeServer(small)
    await did(operation, ...before)
    const was = await held(operation)
    await using engine = await cellEngine(running, trial.saga)

    const outcome = await engine
      .start(trial.saga, await paramsOf(operation))
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    const isUntouched = trial.label === 'fails after begin'
    const states = trial.ends === 'done' ? [done] : isUntouched ? [undone, 'active'] : [undone]
    expect(states).toContain(await settled(operation))
    if (trial.ends !== 'done') expect(await held(operation)).toEqual(was)
    await gone(operation)
  })

  test.each([1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
    'killed at commit %i, %s it, is ended by another process',
    async (dieAt, when) => {
      const operation = await cell.activeServer(small)
      await did(operation, ...before)
      const processName = `crashing-${operation.serverId.slice(-12)}`
      const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
      const start = await paramsOf(operation)
      {
        await using doomed = await cellEngine(running, actSaga, crashing, processName)
        const run = await doomed.start(actSaga, start).catch(() => undefined)
        await run?.finished
      }

      await using successor = await cellEngine(running, actSaga, undefined, processName)
      await successor.recover()

      const isPromised = dieAt > 1 || when === 'after'
      const isUntouched = undone === 'error' ? 'active' : undone
      await expect.poll(() => settled(operation)).toBe(isPromised ? done : isUntouched)
      await gone(operation)
    },
  )
})

test('no saga holds anything in the end', async () => {
  const { db } = running.cell.conductor
  const rows = await db.orm.select().from(allocations).where(eq(allocations.providerId, host.id))
  const servers = new Set(rows.map(({ consumerId }) => consumerId))
  for (const id of servers)
    expect(await findInstance(db, id as InstanceId), `holder ${id}`).toBeDefined()
})
