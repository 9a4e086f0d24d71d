import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import type { Clock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Database, type Transactional } from '../db/database.ts'
import { type ErrorKind, Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Logger } from '../log.ts'
import { SagaEngine } from './engine.ts'
import { readFailure } from './log.ts'
import type { LocalStep, RemoteStep, Saga, Step } from './saga.ts'
import { sagas } from './schema.ts'

// Goal: what a saga does when a step fails, stays silent, or can only be repeated, and what its row then says.

interface Params {
  readonly id: string
}
type AnyStep = Step<object, Params>

let db: Database
/** What steps did and undid, in order. */
let done: string[]
let logged: { level: string; message: string; fields: Record<string, unknown> }[]
let pauses: number[]

beforeAll(async () => {
  const url = await migratedDatabase('saga_execution', 'cells')
  db = new Database({ url, connectionsMax: 8 })
})
beforeEach(() => {
  done = []
  logged = []
  pauses = []
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** Pauses pass at once, but for those between renewals of the lease, which never come. */
function quickClock(): Clock {
  let now = 0
  return {
    now: () => Date.now(),
    elapsed: () => now,
    sleep: (ms, signal) => {
      if (ms === 1_500)
        return new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        })
      pauses.push(ms)
      now += ms
      return Promise.resolve()
    },
  }
}

const logs = (level: string) => (fields: Record<string, unknown>, message: string) => {
  logged.push({ level, message, fields })
}
const log = Object.fromEntries(
  ['info', 'warn', 'error'].map((level) => [level, logs(level)]),
) as unknown as Logger

const noted = (name: string) => ({
  name,
  run: async () => {
    done.push(name)
    return name
  },
  undo: async () => {
    done.push(`undo ${name}`)
  },
})
const local = (name: string, change: Partial<LocalStep<object, Params>> = {}): AnyStep => {
  return { kind: 'local', ...noted(name), ...change }
}
const remote = (name: string, change: Partial<RemoteStep<object, Params>> = {}): AnyStep => {
  return { kind: 'remote', ...noted(name), ...change }
}

const failing = (kind: ErrorKind = 'conflict', times = Number.POSITIVE_INFINITY) => {
  let left = times
  return async () => {
    done.push('failed')
    if (left-- > 0) throw new Failure(kind, `no: ${kind}`)
    return null
  }
}

const sagaOf = (steps: readonly AnyStep[], version = 1): Saga<object, Params> => {
  return { name: 'sample', version, steps }
}

function open(
  saga: Saga<object, Params>,
  { on = db as Transactional, processName = newId<string>() } = {},
) {
  const clock = quickClock()
  return SagaEngine.open({ db: on, deps: {}, sagas: [saga], processName, clock, log })
}

async function run(engine: SagaEngine<object>, saga: Saga<object, Params>) {
  const id = newId<string>()
  const start = { subject: id, params: { id }, work: workContext({}) }
  const started = await engine.start(saga, start)
  return { ...started, subject: id, outcome: await started.finished }
}

async function rowOf(subject: string) {
  const late = sql<number>`timestampdiff(microsecond, now(3), ${sagas.resumeAt}) / 1000`
  const [row] = await db.orm
    .select({ id: sagas.id, state: sagas.state, log: sagas.log, pauseMs: late })
    .from(sagas)
    .where(eq(sagas.subject, subject))
  return row!
}

/** As if the pause of a saga that rests were over. */
const wake = (subject: string) =>
  db.orm.update(sagas).set({ resumeAt: sql`now(3)` }).where(eq(sagas.subject, subject))

const settled = (subject: string) => expect.poll(async () => (await rowOf(subject)).state)

test('a step is tried four times while its remote does not answer, and its saga then rests for three seconds', async () => {
  const saga = sagaOf([local('first'), remote('ask', { run: failing('unavailable') })])
  await using engine = await open(saga)

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('handed-over')
  expect(pauses).toEqual([100, 300, 1_000])
  expect(done).toEqual(['first', 'failed', 'failed', 'failed', 'failed'])
  const row = await rowOf(subject)
  expect(row.state).toBe('running')
  expect(Number(row.pauseMs)).toBeGreaterThan(0)
  expect(Number(row.pauseMs)).toBeLessThanOrEqual(3_000)
  expect(logged.at(-1)).toMatchObject({ level: 'info', message: 'saga rests' })
})

test('an undo whose remote does not answer rests, and continues from there', async () => {
  const undo = failing('unavailable', 4)
  const saga = sagaOf([
    remote('build', { undo: async () => void (await undo()) }),
    remote('refuse', { run: failing() }),
  ])
  await using engine = await open(saga)

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('handed-over')
  expect((await rowOf(subject)).state).toBe('unwinding')
  await wake(subject)
  await engine.recover()
  await settled(subject).toBe('unwound')
  expect(done.filter((each) => each === 'build')).toHaveLength(1)
})

test.each([
  [
    'remote',
    remote('end', { run: failing('conflict', 1), forwardOnly: true }),
    ['build', 'failed', 'failed'],
  ],
  // What the remote answered was to commit with it, so the remote is asked once more.
  [
    'local',
    local('end', { run: failing('conflict', 1), forwardOnly: true }),
    ['build', 'failed', 'build', 'failed'],
  ],
] as const)(
  'a %s step after the point of no return is repeated, and nothing is undone',
  async (_kind, step, tried) => {
    const saga = sagaOf([remote('build'), step])
    await using engine = await open(saga)

    const { outcome, subject } = await run(engine, saga)

    expect(outcome).toBe('handed-over')
    expect((await rowOf(subject)).state).toBe('running')
    await wake(subject)
    await engine.recover()
    await settled(subject).toBe('done')
    expect(done).toEqual(tried)
  },
)

test('a saga unwinds the steps that left a trace, last first, and not those passed over', async () => {
  const saga = sagaOf([
    local('one'),
    remote('two'),
    local('never', { when: () => false }),
    local('three', { undo: 'none' }),
    remote('four', { undo: 'none' }),
    remote('five', { run: failing() }),
    local('six'),
  ])
  await using engine = await open(saga)

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('unwound')
  const inOrder = 'one, two, three, four, failed, undo five, undo two, undo one'
  expect(done.join(', ')).toBe(inOrder)
  const { log: rows } = await rowOf(subject)
  expect(rows.map(({ step, event }) => `${step} ${event}`)).toEqual([
    'one succeeded',
    'two started',
    'two succeeded',
    'three succeeded',
    'four started',
    'four succeeded',
    'five started',
    'five failed',
    'five undone',
    'four undone',
    'three undone',
    'two undone',
    'one undone',
  ])
})

test.each([
  [new Failure('over-quota', 'full'), { kind: 'over-quota', message: 'full' }],
  [new Error('broken'), { kind: 'internal', message: 'broken' }],
  ['a text', { kind: 'internal', message: '' }],
])('why a saga unwound is kept: %s', async (thrown, kept) => {
  const refuse = remote('refuse', { run: () => Promise.reject(thrown as Error) })
  const saga = sagaOf([remote('build'), refuse])
  await using engine = await open(saga)

  const { id } = await run(engine, saga)

  expect(await readFailure(db, id)).toMatchObject(kept)
})

test('of a saga in which nothing failed, or that is not there, no failure is read', async () => {
  const saga = sagaOf([remote('build')])
  await using engine = await open(saga)

  expect(await readFailure(db, (await run(engine, saga)).id)).toBeUndefined()
  expect(await readFailure(db, newId())).toBeUndefined()
})

test('an undo that finds a row changed by others is tried again, and stuck only where it always does', async () => {
  const undoing = (times: number) => {
    let left = times
    return async () => {
      done.push('undo')
      if (left-- > 0) throw new Failure('conflict', 'It changed meanwhile.')
    }
  }
  const sagaWith = (times: number) =>
    sagaOf([local('note', { undo: undoing(times) }), remote('refuse', { run: failing() })])
  for (const [times, ends] of [
    [4, 'unwound'],
    [5, 'stuck'],
  ] as const) {
    const saga = sagaWith(times)
    await using engine = await open(saga)
    expect((await run(engine, saga)).outcome).toBe(ends)
  }
  expect(done.filter((each) => each === 'undo')).toHaveLength(10)
})

test('a local step that fails after a remote one undoes both', async () => {
  const saga = sagaOf([remote('build'), local('note'), local('fail', { run: failing() })])
  await using engine = await open(saga)

  expect((await run(engine, saga)).outcome).toBe('unwound')

  // The transaction of both local steps was rolled back, so there is nothing of the first one to undo.
  expect(done).toEqual(['build', 'note', 'failed', 'undo fail', 'undo build'])
})

test('a saga of another version of its steps unwinds instead of going on', async () => {
  const processName = newId<string>()
  const steps = [remote('build'), remote('wait', { run: failing('unavailable') })]
  let subject: string
  {
    await using engine = await open(sagaOf(steps), { processName })
    subject = (await run(engine, sagaOf(steps))).subject
  }
  await wake(subject)

  await using next = await open(sagaOf(steps, 2), { processName })
  await next.recover()

  await settled(subject).toBe('unwound')
  expect(done.slice(-2)).toEqual(['undo wait', 'undo build'])
})

test('a saga whose name is unknown here is logged and left alone', async () => {
  const processName = newId<string>()
  const saga = sagaOf([remote('wait', { run: failing('unavailable') })])
  let subject: string
  {
    await using engine = await open(saga, { processName })
    subject = (await run(engine, saga)).subject
  }
  await wake(subject)

  await using next = await open({ ...saga, name: 'other' }, { processName })
  await next.recover()

  expect((await rowOf(subject)).state).toBe('running')
  expect(logged.at(-1)).toMatchObject({
    level: 'error',
    message: 'saga of unknown name',
    fields: { saga_name: 'sample' },
  })
})

test('the caller that began the saga gets the results of its first transaction', async () => {
  const saga = sagaOf([local('first'), remote('build'), local('last')])
  await using engine = await open(saga)
  const start = { subject: 's', params: { id: 'x' }, work: workContext({}) }

  const started = await engine.start(saga, {
    ...start,
    before: () => void done.push('before'),
    after: () => void done.push('after'),
  })

  expect(done.slice(0, 3)).toEqual(['before', 'first', 'after'])
  expect(started.output('first')).toBe('first')
  expect(started.output('last')).toBeUndefined()
  expect(await started.finished).toBe('done')
})

test('a transaction that is to begin no saga is refused', async () => {
  const saga = sagaOf([remote('build')])
  await using engine = await open(saga)

  await expect(engine.startTogether(saga, [], {})).rejects.toThrow('begins no saga')
})

test('a process that stops ends its wait for a remote, and the next process continues at once', async () => {
  const processName = newId<string>()
  let isAsked = false
  let isAborted = false
  const hanging = remote('hang', {
    run: (_call, signal) =>
      new Promise((_resolve, reject) => {
        isAsked = true
        signal.addEventListener('abort', () => {
          isAborted = true
          reject(signal.reason as Error)
        })
      }),
  })
  const saga = sagaOf([remote('build'), hanging])
  const subject = newId<string>()
  {
    await using engine = await open(saga, { processName })
    const start = { subject, params: { id: subject }, work: workContext({}) }
    await engine.start(saga, start)
    await expect.poll(() => isAsked).toBe(true)
  }
  expect(isAborted).toBe(true)

  const working = sagaOf([remote('build'), remote('hang')])
  await using next = await open(working, { processName })
  expect(await next.recover()).toBe(1)

  await settled(subject).toBe('done')
  expect(done).toEqual(['build', 'hang'])
})
