import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { workContext } from '#common/context.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { CellAct } from '#openapi/wire/act.ts'
import type { InstanceBuild, OperationRef } from '#openapi/wire/instance.ts'
import { cellEngine, tracesOf, usageOf } from '#test/env/cell-engine.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { findInstance } from '../../db/instances.ts'
import { allocations } from '../../db/schema/placement.ts'
import { migrationsOf } from '../../db/server-migrations.ts'
import { auditHost } from '../../hosts/audit-host.ts'
import { changeHost } from '../../hosts/change-host.ts'
import { type MoveParams, moveSaga, sealedOrder } from '../sagas/move.ts'
import type { MoveName } from './move.ts'
import { MOVE_STEPS_MAX } from './plans.ts'

let cell: TestCell
let running: RunningCell
let hosts: readonly TestHost[]

beforeAll(async () => {
  cell = await testCell('moves')
  running = await cell.addProcess('one')
  const size = { vcpus: 4, memoryMb: 100_000, diskGb: 10_000 }
  hosts = [
    await cell.addHost({ name: 'here', ...size }),
    await cell.addHost({ name: 'there', ...size }),
  ]
  await cell.waitForHosts(running, 2)
})
afterEach(() => {
  for (const { driver } of hosts) driver.faults.set([])
})
afterAll(() => cell[Symbol.asyncDispose]())

const small = sampleBuild()
const GROUP = { id: newId<string>(), policy: 'anti-affinity', maxPerHost: 1 } as const
const grouped = sampleBuild({ group: GROUP })
const ends = {
  confirm: { name: 'confirm-resize' },
  revert: { name: 'revert-resize', build: small },
} as const satisfies Record<string, CellAct>

const move = (
  name: 'migrate' | 'live-migrate' | 'evacuate',
  change: Partial<InstanceBuild> = {},
): CellAct => ({
  name,
  build: sampleBuild(change),
  migrationId: newId(),
  host: null,
  isAwaited: false,
  userId: 'user',
})

async function activeServer(build = small): Promise<OperationRef> {
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build })
  await expect.poll(() => settled(operation)).toBe('active')
  return operation
}

const instanceOf = ({ serverId }: OperationRef) =>
  findInstance(running.cell.conductor.db, serverId as InstanceId)

const settled = async (operation: OperationRef) => {
  const instance = await instanceOf(operation)
  return instance === undefined || instance.sagaId !== null ? undefined : instance.vmState
}

const ask = (operation: OperationRef, act: CellAct) =>
  cell.ask('instance.act', { operation: { ...operation, id: newId() }, act })

async function did(operation: OperationRef, ...acts: readonly CellAct[]): Promise<unknown> {
  for (const act of acts) {
    await ask(operation, act)
    await expect.poll(() => settled(operation)).toBeDefined()
  }
  return settled(operation)
}

const placeOf = async (operation: OperationRef) => (await instanceOf(operation))?.placed?.host
const hostNamed = (name: string | undefined) => hosts.find((host) => host.name === name)!
const other = (name: string | undefined) => hosts.find((host) => host.name !== name)!

/** Guests by host: `here shutdown`. */
async function guestsOf({ serverId }: OperationRef): Promise<readonly string[]> {
  const found = await Promise.all(
    hosts.map(async ({ name, driver }) => {
      const guests = await driver.list(AbortSignal.timeout(5_000))
      return guests
        .filter(({ id }) => id === serverId)
        .map((guest) => `${name} ${guest.powerState}`)
    }),
  )
  return found.flat()
}

/** VCPUs held on each host, by whomever. */
async function heldOn({ id }: TestHost): Promise<number> {
  const { orm } = running.cell.conductor.db
  const rows = await orm.select().from(allocations).where(eq(allocations.providerId, id))
  return rows
    .filter(({ resourceClass }) => resourceClass === 'VCPU')
    .reduce((sum, { used }) => sum + used, 0)
}

const migrationOf = async ({ serverId }: OperationRef) =>
  (await migrationsOf(running.cell.conductor.db, [serverId])).at(-1)

async function gone(operation: OperationRef): Promise<void> {
  await cell.ask('instance.delete', { operation })
  await expect.poll(() => instanceOf(operation)).toBeUndefined()
  expect(await tracesOf(running, hosts, operation.serverId)).toEqual([])
  for (const host of hosts) expect(await heldOn(host)).toBe(0)
  const { held, counted } = await usageOf(running)
  expect(counted).toBe(held)
}

describe('a cold move', () => {
  test.each(['active', 'stopped'] as const)(
    'of a server that is %s waits on the other host, and its former host keeps it, until it is confirmed',
    async (state) => {
      const operation = await activeServer()
      const from = await placeOf(operation)
      if (state === 'stopped') await did(operation, { name: 'stop' })

      expect(await did(operation, move('migrate'))).toBe('resized')

      const to = other(from).name
      const now = state === 'active' ? 'running' : 'shutdown'
      expect(await placeOf(operation)).toBe(to)
      expect([...(await guestsOf(operation))].sort()).toEqual(
        [`${from} shutdown`, `${to} ${now}`].sort(),
      )
      expect([await heldOn(hosts[0]!), await heldOn(hosts[1]!)]).toEqual([1, 1])
      expect(await migrationOf(operation)).toMatchObject({
        type: 'migration',
        status: 'finished',
        sourceHost: from,
        destHost: to,
      })
      await auditHost(running.cell, hostNamed(from).id)
      expect(await guestsOf(operation)).toHaveLength(2)
      expect(await did(operation, ends.confirm)).toBe(state)

      expect(await guestsOf(operation)).toEqual([`${to} ${now}`])
      expect([await heldOn(hostNamed(from)), await heldOn(hostNamed(to))]).toEqual([0, 1])
      expect((await migrationOf(operation))?.status).toBe('confirmed')
      expect(await did(operation, move('migrate'), ends.confirm)).toBe(state)
      expect(await guestsOf(operation)).toEqual([`${from} ${now}`])
      await gone(operation)
    },
  )

  test('that is reverted is on its former host again, and nothing is left of the server elsewhere', async () => {
    const operation = await activeServer(grouped)
    const from = await placeOf(operation)

    expect(await did(operation, move('migrate', { group: GROUP }))).toBe('resized')
    expect(await did(operation, ends.revert)).toBe('active')

    expect(await guestsOf(operation)).toEqual([`${from} running`])
    expect(await placeOf(operation)).toBe(from)
    expect((await migrationOf(operation))?.status).toBe('reverted')
    expect([await heldOn(hostNamed(from)), await heldOn(other(from))]).toEqual([1, 0])
    await gone(operation)
  })

  test('is chosen for a resize for which the own host has no room', async () => {
    const operation = await activeServer()
    const from = await placeOf(operation)
    const [free, taken] = [other(from), hostNamed(from)]
    // All of its disk, of which the server holds a part.
    const most = { ...small.flavor, id: 'most', vcpus: 2, rootGb: 10_000 }

    const resize = {
      name: 'resize',
      build: sampleBuild({ flavor: most }),
      previous: small.flavor,
      userId: 'user',
    } as const
    expect(await did(operation, resize)).toBe('resized')

    expect(await placeOf(operation)).toBe(free.name)
    expect([await heldOn(taken), await heldOn(free)]).toEqual([1, 2])
    expect((await instanceOf(operation))?.flavor?.vcpus).toBe(2)
    expect(await did(operation, ends.revert)).toBe('active')
    expect((await instanceOf(operation))?.flavor?.vcpus).toBe(1)
    await gone(operation)
  })
})

test('an evacuated server that is to stay off is made and not started, where it is known that its host was powered off', async () => {
  const operation = await activeServer()
  const from = await placeOf(operation)
  const dead = hostNamed(from)
  const fenced = { isForcedDown: true, fencedAt: Date.now() }
  await changeHost(running.cell.conductor, dead.id, (seen) => ({ ...seen, ...fenced }))
  await running.cell.conductor.hosts.refresh()
  const evacuate = vi.spyOn(other(from).driver.move!, 'evacuate')

  expect(await did(operation, { ...move('evacuate'), staysOff: true } as CellAct)).toBe('stopped')

  expect(evacuate.mock.lastCall?.[1]).toEqual({ runs: false, sourceIsOff: true })
  expect(await guestsOf(operation)).toContain(`${other(from).name} shutdown`)
  await cell.ask('host.set-service', { hostId: dead.id, isForcedDown: false })
  await running.cell.conductor.hosts.refresh()
  await auditHost(running.cell, dead.id)
  await expect.poll(() => guestsOf(operation)).toEqual([`${other(from).name} shutdown`])
  await gone(operation)
})

test('an evacuated server is elsewhere, and its former host loses it when it is back', async () => {
  const operation = await activeServer()
  const from = await placeOf(operation)
  const dead = hostNamed(from)
  await cell.ask('host.set-service', { hostId: dead.id, isForcedDown: true })
  await running.cell.conductor.hosts.refresh()
  const to = other(from)
  const evacuate = vi.spyOn(to.driver.move!, 'evacuate')

  expect(await did(operation, move('evacuate'))).toBe('active')

  expect(evacuate.mock.lastCall?.[1]).toEqual({ runs: true })
  expect([...(await guestsOf(operation))].sort()).toEqual(
    [`${from} running`, `${to.name} running`].sort(),
  )
  expect([await heldOn(dead), await heldOn(to)]).toEqual([0, 1])
  expect((await migrationOf(operation))?.status).toBe('done')
  await cell.ask('host.set-service', { hostId: dead.id, isForcedDown: false })
  await running.cell.conductor.hosts.refresh()
  await auditHost(running.cell, dead.id)
  await expect.poll(() => guestsOf(operation)).toEqual([`${to.name} running`])
  // It may come back: nothing on that host remembers that it is over.
  expect(await did(operation, move('migrate'), ends.confirm)).toBe('active')
  expect(await placeOf(operation)).toBe(from)
  await gone(operation)
})

describe('a live move', () => {
  test.each(['active', 'paused'] as const)('of a server that is %s keeps it so', async (state) => {
    const operation = await activeServer()
    const from = await placeOf(operation)
    if (state === 'paused') await did(operation, { name: 'pause' })

    expect(await did(operation, move('live-migrate'))).toBe(state)

    const to = other(from)
    const power = state === 'paused' ? 'paused' : 'running'
    expect(await guestsOf(operation)).toEqual([`${to.name} ${power}`])
    expect([await heldOn(hostNamed(from)), await heldOn(to)]).toEqual([0, 1])
    expect((await migrationOf(operation))?.status).toBe('completed')
    await gone(operation)
  })

  test('that is called off leaves the server where it was', async () => {
    const operation = await activeServer()
    const from = await placeOf(operation)
    hostNamed(from).driver.faults.set([{ method: 'send', effect: { do: 'hang' } }])
    await ask(operation, move('live-migrate'))
    const { id: migrationId } = (await migrationOf(operation))!
    expect((await migrationOf(operation))?.status).toBe('running')

    await expect
      .poll(async () => {
        await ask(operation, { name: 'abort-migration', migrationId }).catch(() => undefined)
        return settled(operation)
      })
      .toBe('active')

    expect(await guestsOf(operation)).toEqual([`${from} running`])
    expect((await migrationOf(operation))?.status).toBe('cancelled')
    expect((await instanceOf(operation))?.fault).toBeNull()
    await gone(operation)
  })
})

test.each([
  ['migrate', 'pack', 'active'],
  ['migrate', 'writeFile', 'active'],
  ['migrate', 'arrive', 'active'],
  ['live-migrate', 'expect', 'active'],
  ['live-migrate', 'send', 'active'],
  ['evacuate', 'spawn', 'error'],
] as const)('a %s whose %s fails leaves the server where it was', async (name, method, state) => {
  const operation = await activeServer()
  const from = await placeOf(operation)
  const effect = { do: 'fail', kind: 'no-capacity', message: 'cannot' } as const
  for (const { driver } of hosts) driver.faults.set([{ method, effect }])

  expect(await did(operation, move(name))).toBe(state)

  expect((await instanceOf(operation))?.fault).toMatchObject({ details: 'cannot' })
  expect(await guestsOf(operation)).toEqual([`${from} running`])
  expect((await migrationOf(operation))?.status).toBe('error')
  expect([await heldOn(hostNamed(from)), await heldOn(other(from))]).toEqual([1, 0])
  for (const { driver } of hosts) driver.faults.set([])
  await gone(operation)
})

test.each([
  ['migrate', 'arrive'],
  ['live-migrate', 'send'],
] as const)(
  'a delete in the middle of a %s leaves nothing on either host',
  async (name, method) => {
    const operation = await activeServer()
    for (const { driver } of hosts) driver.faults.set([{ method, effect: { do: 'hang' } }])
    await ask(operation, move(name))

    await gone(operation)
  },
)

test('a server that no other host fits stays, with a fault that says so', async () => {
  const operation = await activeServer()

  expect(await did(operation, move('migrate', { zone: 'mars' }))).toBe('active')

  expect((await instanceOf(operation))?.fault?.message).toMatch(/No valid host/)
  await gone(operation)
})

const SAGAS: readonly (readonly [MoveName, () => readonly CellAct[], string, string])[] = [
  ['migrate', () => [], 'resized', 'active'],
  ['confirm-resize', () => [move('migrate')], 'active', 'resized'],
]

describe.each(SAGAS)('the saga of %s', (name, before, done, undone) => {
  const paramsOf = async (operation: OperationRef) => {
    const instance = (await instanceOf(operation))!
    const own = { ...operation, id: newId<string>() }
    const migrationId = (await migrationOf(operation))?.id ?? newId<string>()
    const order = { migrationId, build: small, userId: 'user', oldFlavorId: '1' }
    const sealed = sealedOrder(running.cell.conductor.secrets, own, order)
    const operationIds = Array.from({ length: MOVE_STEPS_MAX }, () => newId<string>())
    const params: MoveParams = {
      operation: own,
      name,
      sealed,
      instance,
      startedAt: 1,
      operationIds,
    }
    return { subject: instance.id, params, work: workContext({}) }
  }
  const steps = name === 'migrate' ? 3 : 1
  const isReached = (step: string) =>
    !step.startsWith('leg-') || Number(step.slice('leg-'.length)) <= steps

  test.each(
    trialsOf(moveSaga, (step) => step !== 'take-back' && isReached(step)).map(
      (trial) => [trial.label, trial] as const,
    ),
  )('that %s leaves a server that no saga holds', async (_label, trial) => {
    const operation = await activeServer()
    await did(operation, ...before())
    await using engine = await cellEngine(running, trial.saga)

    const outcome = await engine
      .start(trial.saga, await paramsOf(operation))
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    expect(await settled(operation)).toBe(trial.ends === 'done' ? done : undone)
    await gone(operation)
  })

  test.each([1, 3].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
    'killed at commit %i, %s it, is ended by another process',
    async (dieAt, when) => {
      const operation = await activeServer()
      await did(operation, ...before())
      const processName = `crashing-${operation.serverId.slice(-12)}`
      const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
      const start = await paramsOf(operation)
      {
        await using doomed = await cellEngine(running, moveSaga, crashing, processName)
        const run = await doomed.start(moveSaga, start).catch(() => undefined)
        await run?.finished
      }

      await using successor = await cellEngine(running, moveSaga, undefined, processName)
      await successor.recover()

      const isPromised = dieAt > 1 || when === 'after'
      await expect.poll(() => settled(operation)).toBe(isPromised ? done : undone)
      await gone(operation)
    },
  )
})
