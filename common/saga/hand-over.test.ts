import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { type Clock, systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Database, type Transactional } from '../db/database.ts'
import { Failure } from '../errors.ts'
import { newId, type SagaId } from '../ids.ts'
import type { IsolatedEnd } from '../isolated/isolated-process.ts'
import type { Logger } from '../log.ts'
import { sagaMeasure } from '../metrics/measures.ts'
import { SagaEngine, type SagaEngineOptions } from './engine.ts'
import { seizeLease } from './lease.ts'
import { adoptSagas, hasBegun, markSaga, queueSaga, SagaLost } from './log.ts'
import type { Saga } from './saga.ts'
import { sagas } from './schema.ts'

// Goal: what a process does with a saga that it cannot go on with, and with its lease.

interface Deps {
  /** Steps that were taken, in order. */
  readonly taken: string[]
}
const TTL_MS = 60_000

let db: Database
let deps: Deps
let logged: { level: string; message: string; fields: Record<string, unknown> }[]

beforeAll(async () => {
  const url = await migratedDatabase('saga_hand_over', 'cells')
  db = new Database({ url, connectionsMax: 4 })
})
beforeEach(() => {
  deps = { taken: [] }
  logged = []
})
afterAll(() => db?.[Symbol.asyncDispose]())

const logs = (level: string) => (fields: Record<string, unknown>, message: string) => {
  logged.push({ level, message, fields })
}
const log = Object.fromEntries(
  ['info', 'warn', 'error'].map((level) => [level, logs(level)]),
) as unknown as Logger

const saga: Saga<Deps, object> = {
  name: 'sample',
  version: 1,
  steps: [
    {
      kind: 'remote',
      name: 'build',
      run: async ({ deps: { taken } }) => {
        taken.push('build')
        return null
      },
      undo: async () => {},
    },
    {
      kind: 'local',
      name: 'note',
      run: async (_tx, { deps: { taken } }) => {
        taken.push('note')
        return null
      },
      undo: 'none',
    },
  ],
}

/** The database, of which the statements of these kinds fail as long as they are named. */
function failingDatabase() {
  const failing = new Set<'transaction' | 'rows' | 'run'>()
  const tried = <T>(what: 'transaction' | 'rows' | 'run', work: () => Promise<T>): Promise<T> =>
    failing.has(what) ? Promise.reject(new Failure('unavailable', `no ${what}`)) : work()
  const on: Transactional = {
    orm: db.orm,
    rows: (...call) => tried('rows', () => db.rows(...call)),
    run: (...call) => tried('run', () => db.run(...call)),
    transaction: (work) => tried('transaction', () => db.transaction(work)),
    onCommit: (listener) => db.onCommit(listener),
  }
  return { failing, on }
}

const optionsOf = (change: Partial<SagaEngineOptions<Deps>> = {}): SagaEngineOptions<Deps> => ({
  ...{ db, deps, sagas: [saga], processName: newId<string>(), clock: systemClock, log },
  ...change,
})
const start = () => ({ subject: newId<string>(), params: {}, work: workContext({}) })
const rowOf = async (id: SagaId) => {
  const [row] = await db.orm.select().from(sagas).where(eq(sagas.id, id))
  return row
}

test('a saga whose commit fails is let go of, is no suspect if the process then ends, and goes on', async () => {
  const { failing, on } = failingDatabase()
  await using engine = await SagaEngine.open(optionsOf({ db: on }))
  expect(engine.hasLetGo).toBe(false)

  const isBegun = engine.start(saga, start())
  const { id, finished } = await isBegun
  failing.add('transaction')
  expect(await finished).toBe('handed-over')
  expect(engine.hasLetGo).toBe(true)
  expect(logged).toMatchObject([
    { level: 'warn', message: 'saga handed over', fields: { saga: id } },
  ])
  expect((await rowOf(id))?.execution).toBe('active')

  failing.add('rows')
  await expect(engine.recover()).rejects.toThrow('no rows')
  expect((await rowOf(id))?.execution).toBe('idle')
  expect(engine.hasLetGo).toBe(false)
  failing.clear()
  expect(await engine.recover()).toBe(1)
  await expect.poll(async () => (await rowOf(id))?.state).toBe('done')
  expect(deps.taken).toEqual(['build', 'build', 'note'])
})

test('a process that stops logs nothing of the sagas that it hands over', async () => {
  const hanging: Saga<Deps, object> = {
    ...saga,
    steps: [
      {
        kind: 'remote',
        name: 'hang',
        run: (_call, signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          ),
        undo: 'none',
      },
    ],
  }
  const engine = await SagaEngine.open(optionsOf({ sagas: [hanging] }))
  const { id, finished } = await engine.start(hanging, start())

  await engine[Symbol.asyncDispose]()

  expect(await finished).toBe('handed-over')
  expect(logged).toEqual([])
  expect(await rowOf(id)).toMatchObject({ state: 'running', execution: 'idle' })
})

test('a saga whose log ends before a step of its own database goes on with that step', async () => {
  const options = optionsOf()
  const lease = await seizeLease(db, options.processName, newId(), TTL_MS)
  const id = newId<SagaId>()
  const record = { id, name: 'sample', version: 1, ...start() }
  const built = [{ step: 'build', event: 'succeeded', data: null }] as const
  await db.transaction((tx) => queueSaga(tx, record, lease, { state: 'running', log: built }))

  await using engine = await SagaEngine.open(options)
  expect(await engine.recover()).toBe(1)

  await expect.poll(async () => (await rowOf(id))?.state).toBe('done')
  expect(deps.taken).toEqual(['note'])
})

test('a saga whose log ends before a step that fails unwinds', async () => {
  const refusing: Saga<Deps, object> = {
    ...saga,
    steps: [
      saga.steps[0]!,
      {
        kind: 'local',
        name: 'note',
        run: () => Promise.reject(new Failure('conflict', 'no')),
        undo: 'none',
      },
    ],
  }
  const options = optionsOf({ sagas: [refusing] })
  const lease = await seizeLease(db, options.processName, newId(), TTL_MS)
  const id = newId<SagaId>()
  const record = { id, name: 'sample', version: 1, ...start() }
  const built = [{ step: 'build', event: 'succeeded', data: null }] as const
  await db.transaction((tx) => queueSaga(tx, record, lease, { state: 'running', log: built }))

  await using engine = await SagaEngine.open(options)
  await engine.recover()

  await expect.poll(async () => (await rowOf(id))?.state).toBe('unwound')
})

test('a saga that an isolated process begins is taken up by the process that gave it its lease', async () => {
  await using engine = await SagaEngine.open(optionsOf())
  const { lease } = engine
  const isolated = SagaEngine.isolated(optionsOf(), lease)

  const { id, finished } = await isolated.start(saga, start())
  expect(await finished).toBe('handed-over')
  await isolated[Symbol.asyncDispose]()

  expect(deps.taken).toEqual([])
  expect(await rowOf(id)).toMatchObject({ ...generationOf(lease), execution: 'active' })
  expect(await engine.recover()).toBe(1)
  await expect.poll(async () => (await rowOf(id))?.state).toBe('done')
})

const generationOf = ({ name: owner, generation }: SagaEngine<Deps>['lease']) => ({
  owner,
  generation,
})

test('a saga that another process took while it was tried in isolation stays with that process', async () => {
  const processName = newId<string>()
  const first = await seizeLease(db, processName, newId(), TTL_MS)
  const id = newId<SagaId>()
  const record = { id, name: 'sample', version: 1, ...start() }
  await db.transaction((tx) => queueSaga(tx, record, first, { state: 'running' }))
  let taken = first
  const run = async (): Promise<IsolatedEnd> => {
    taken = await seizeLease(db, processName, newId(), TTL_MS)
    await adoptSagas(db, taken, { max: 1, running: new Set() })
    return { kind: 'guilty', why: 'It ended its process.' }
  }

  await using engine = await SagaEngine.open(optionsOf({ processName, isolated: { run } }))
  expect(await engine.recover()).toBe(1)

  await expect
    .poll(() => logged.map(({ message }) => message))
    .toEqual(['isolated saga handed over'])
  expect(logged[0]).toMatchObject({ level: 'warn', fields: { saga: id } })
  expect(await rowOf(id)).toMatchObject({ ...generationOf(taken), state: 'running' })
})

/** A saga of the process's predecessor, which may have been the cause of its end. */
async function suspect(processName: string): Promise<SagaId> {
  const lease = await seizeLease(db, processName, newId(), TTL_MS)
  const id = newId<SagaId>()
  const record = { id, name: 'sample', version: 1, ...start() }
  await db.transaction((tx) => queueSaga(tx, record, lease, { state: 'running' }))
  return id
}

test.each([
  ['is set aside', { kind: 'guilty', why: 'It ended its process.' }, 'stuck'],
  ['is tried later', { kind: 'ended', answer: 'handed-over' }, undefined],
  ['has ended', { kind: 'ended', answer: 'done' }, 'done'],
] as const)('a saga that was tried in isolation and %s is told so', async (_, end, told) => {
  const processName = newId<string>()
  const id = await suspect(processName)
  const ended: unknown[] = []
  const onEnded = (record: { readonly id: SagaId }, outcome: string) => {
    ended.push([record.id, outcome])
  }
  const tried = Promise.withResolvers<void>()
  const run = async (): Promise<IsolatedEnd> => {
    tried.resolve()
    return end
  }

  {
    await using engine = await SagaEngine.open(
      optionsOf({ processName, isolated: { run }, onEnded }),
    )
    await engine.recover()
    await tried.promise
  }

  expect(ended).toEqual(told === undefined ? [] : [[id, told]])
  const stuck = { saga: id, saga_name: 'sample', subject: expect.stringMatching(/./) }
  expect(logged).toMatchObject(told === 'stuck' ? [{ level: 'error', fields: stuck }] : [])
  const isLater = ((await rowOf(id))?.resumeAt.getTime() ?? 0) > Date.now()
  expect(isLater).toBe(told === undefined)
})

test('a process that wants to hear of no end tries sagas in isolation as well', async () => {
  const processName = newId<string>()
  await suspect(processName)
  const run = () => Promise.resolve<IsolatedEnd>({ kind: 'ended', answer: 'done' })

  {
    await using engine = await SagaEngine.open(optionsOf({ processName, isolated: { run } }))
    await engine.recover()
  }

  expect(logged).toEqual([])
})

test('the end of a saga is told and measured once, and one that goes on later is only measured', async () => {
  const { failing, on } = failingDatabase()
  const told: unknown[] = []
  const measured: unknown[] = []
  using _measure = sagaMeasure.listen(({ saga: name, outcome }) => measured.push([name, outcome]))
  const onEnded = ({ id }: { readonly id: SagaId }, outcome: string) => {
    told.push([id, outcome])
  }
  await using engine = await SagaEngine.open(optionsOf({ db: on, onEnded }))

  const done = await engine.start(saga, start())
  expect(await done.finished).toBe('done')
  const later = await engine.start(saga, start())
  failing.add('transaction')
  expect(await later.finished).toBe('handed-over')

  expect(told).toEqual([[done.id, 'done']])
  expect(measured).toEqual([
    ['sample', 'done'],
    ['sample', 'handed-over'],
  ])
})

test('a saga at work is taken up by no look, and one that rests by one of two looks', async () => {
  const answers = Promise.withResolvers<null>()
  const build = { ...saga.steps[0]!, run: () => (deps.taken.push('build'), answers.promise) }
  const slow = { ...saga, steps: [build, saga.steps[1]!] } as Saga<Deps, object>
  await using engine = await SagaEngine.open(optionsOf({ sagas: [slow] }))
  const atWork = await engine.start(slow, start())
  await expect.poll(() => deps.taken).toEqual(['build'])
  expect(await engine.recover()).toBe(0)

  const resting = newId<SagaId>()
  const record = { id: resting, name: 'sample', version: 1, ...start() }
  await db.transaction((tx) => queueSaga(tx, record, engine.lease, { state: 'running' }))
  await Promise.all([engine.recover(), engine.recover()])
  await expect.poll(() => deps.taken).toEqual(['build', 'build'])
  answers.resolve(null)

  expect(await atWork.finished).toBe('done')
  await expect.poll(async () => (await rowOf(resting))?.state).toBe('done')
  expect(deps.taken.toSorted()).toEqual(['build', 'build', 'note', 'note'])
})

test('only the process that owns a saga marks it', async () => {
  const name = newId<string>()
  const older = await seizeLease(db, name, newId(), TTL_MS)
  const lease = await seizeLease(db, name, newId(), TTL_MS)
  const id = newId<SagaId>()
  const record = { id, name: 'sample', version: 1, ...start() }
  expect(await hasBegun(db, id)).toBe(false)
  await db.transaction((tx) => queueSaga(tx, record, lease, { state: 'running' }))
  expect(await hasBegun(db, id)).toBe(true)

  await expect(markSaga(db, id, older, { state: 'done' })).rejects.toThrow(SagaLost)
  await markSaga(db, id, lease, { state: 'stuck', why: 'x'.repeat(2_000) })
  expect((await rowOf(id))?.why).toBe('x'.repeat(1_000))
  await expect(markSaga(db, id, lease, { state: 'running' })).rejects.toThrow('has ended')
})

/** A clock of which each pause passes when the test says so. */
function steppedClock() {
  let now = 0
  let step = Promise.withResolvers<void>()
  const clock: Clock = {
    now: () => Date.now(),
    elapsed: () => now,
    sleep: async (ms, signal) => {
      const aborted = new Promise<never>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason as Error)),
      )
      await Promise.race([step.promise, aborted])
      now += ms
    },
  }
  const tick = () => {
    step.resolve()
    step = Promise.withResolvers()
  }
  return { clock, tick }
}

test('a process renews its lease, and says so where it cannot or another has its name', async () => {
  const { failing, on } = failingDatabase()
  const { clock, tick } = steppedClock()
  const processName = newId<string>()
  await using _engine = await SagaEngine.open(optionsOf({ db: on, clock, processName }))
  const messages = () => logged.map(({ message }) => message)
  const ticking = () => {
    tick()
    return messages()
  }

  failing.add('run')
  await expect.poll(ticking).toContain('saga lease not renewed')
  expect(logged[0]).toMatchObject({ level: 'warn', fields: { error: 'no run' } })
  failing.clear()
  await db.orm.execute(sql`update leases set expires_at = now(3) where name = ${processName}`)
  const isRenewed = async () => {
    tick()
    const [rows] = await db.orm.execute(
      sql`select 1 from leases where name = ${processName} and expires_at > now(3) + interval 5 second`,
    )
    return (rows as unknown as readonly unknown[]).length
  }
  await expect.poll(isRenewed).toBe(1)

  await seizeLease(db, processName, newId(), TTL_MS)
  const why = 'another process has this name: give each process its own name'
  await expect.poll(ticking).toContain(why)
  const found = logged.find(({ message }) => message === why)
  expect(found).toMatchObject({ level: 'error', fields: { process: processName } })
})
