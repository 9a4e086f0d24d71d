import { eq, sql } from 'drizzle-orm'
import { mysqlTable } from 'drizzle-orm/mysql-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { Relay } from '#test/env/relay.ts'
import { systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { token } from '../db/columns.ts'
import { Database, type Transactional } from '../db/database.ts'
import { builder, statement } from '../db/statement.ts'
import { Failure } from '../errors.ts'
import { setOwnTaskAside } from '../escaped.ts'
import { newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { SagaEngine } from './engine.ts'
import { continueSaga } from './log.ts'
import { FastPathFailed, type Saga, type Step, type StepCall } from './saga.ts'
import { sagas } from './schema.ts'
import { CrashingDatabase, trialsOf } from './testing.ts'

/** A saga with all there is: rows of its own, two outside effects, and a step that is passed over. */
interface World {
  readonly outside: Set<string>
  asks: number
  silentFor: number
}
interface Params {
  readonly id: string
  readonly secret?: string
}

const marks = mysqlTable('marks', { id: token('id').primaryKey() })

const saga: Saga<World, Params> = {
  name: 'sample',
  version: 1,
  steps: [
    {
      kind: 'local',
      name: 'reserve',
      run: async (tx, { params }) => {
        await tx.orm.insert(marks).values({ id: `${params.id}:reserved` })
        return { seen: 1 }
      },
      undo: async (tx, { params }) => {
        await tx.orm.delete(marks).where(eq(marks.id, `${params.id}:reserved`))
      },
    },
    {
      kind: 'remote',
      name: 'build',
      run: async ({ deps, params }) => {
        deps.asks += 1
        if (deps.silentFor-- > 0) throw new Failure('unavailable', 'silent')
        deps.outside.add(params.id)
        return 'built'
      },
      undo: async ({ deps, params }) => {
        deps.outside.delete(params.id)
      },
    },
    {
      kind: 'local',
      name: 'never',
      when: ({ output }) => output<string>('build') === 'refused',
      run: () => Promise.reject(new Error('must be passed over')),
      undo: 'none',
    },
    {
      kind: 'remote',
      name: 'announce',
      run: async ({ deps, params, output }) => {
        deps.outside.add(`${params.id}:${String(output('build'))}`)
        return null
      },
      undo: async ({ deps, params }) => {
        deps.outside.delete(`${params.id}:built`)
      },
    },
    {
      kind: 'local',
      name: 'activate',
      run: async (tx, { params }) => {
        await tx.orm.insert(marks).values({ id: `${params.id}:active` })
        return null
      },
      undo: async (tx, { params }) => {
        await tx.orm.delete(marks).where(eq(marks.id, `${params.id}:active`))
      },
    },
  ],
}

let url: string
let db: Database
let world: World
const log = createLogger('test', 'silent')

beforeAll(async () => {
  url = await migratedDatabase('saga', 'cells')
  db = new Database({ url, connectionsMax: 8 })
  await db.orm.execute(sql`create table marks (id varchar(64) primary key)`)
})
afterAll(() => db?.[Symbol.asyncDispose]())
beforeEach(() => {
  world = { outside: new Set(), asks: 0, silentFor: 0 }
})

function open(tried: Saga<World, Params>, on: Transactional = db, processName = newId()) {
  const options = { db: on, deps: world, sagas: [tried], processName, clock: systemClock, log }
  return SagaEngine.open(options)
}

async function run(engine: SagaEngine<World>, tried: Saga<World, Params>, id: string) {
  const start = { subject: id, params: { id }, work: workContext({}) }
  const { finished } = await engine.start(tried, start)
  return finished
}

async function leftOf(id: string): Promise<readonly string[]> {
  const rows = await db.orm.select().from(marks)
  const inside = rows.map((row) => row.id).filter((mark) => mark.startsWith(id))
  return [...inside, ...[...world.outside].filter((mark) => mark.startsWith(id))].toSorted()
}

const allOf = (id: string) => [`${id}:active`, `${id}:reserved`, id, `${id}:built`].toSorted()

test.each(['done', 'unwound'] as const)(
  'a saga that ends %s keeps none of its secrets',
  async (end) => {
    const id = newId()
    const withSecret: Saga<World, Params> = {
      ...saga,
      withoutSecrets: (params) => ({ ...params, secret: 'gone' }),
      steps: [
        ...saga.steps,
        {
          kind: 'local',
          name: 'look',
          run: async (_tx, { params }) => {
            if (params.secret !== 'hunter22' || end === 'unwound')
              throw new Failure('conflict', 'no')
            return null
          },
          undo: async (_tx, { params }) => expect(params.secret).toBe('hunter22'),
        },
      ],
    }
    await using engine = await open(withSecret)
    const start = { subject: id, params: { id, secret: 'hunter22' }, work: workContext({}) }

    const { finished } = await engine.start(withSecret, start)

    expect(await finished).toBe(end)
    const [row] = await db.orm.select().from(sagas).where(eq(sagas.subject, id))
    expect(row?.params).toEqual({ id, secret: 'gone' })
  },
)

const short: Saga<World, Params> = {
  ...saga,
  steps: saga.steps.filter(({ name }) => name !== 'announce'),
}

test.each([
  ['begins', 'insert into `sagas`', saga],
  ['goes on', 'update `sagas`', saga],
  ['ends', 'update `sagas`', short],
])(
  'a saga is done once where the connection ends under the commit with which it %s',
  async (_, text, tried) => {
    await using relay = await Relay.open(url)
    await using cut = new Database({ url: relay.url, connectionsMax: 4, retryMs: 5_000 })

    for (const lose of ['loseAnswerTo', 'loseNext'] as const) {
      const id = newId<string>()
      await using engine = await open(tried, cut)
      const lost = relay[lose](text)

      expect(await run(engine, tried, id)).toBe('done')
      await lost
      const announced = tried === short ? [`${id}:built`] : []
      expect(await leftOf(id)).toEqual(allOf(id).filter((mark) => !announced.includes(mark)))
    }
  },
)

test('a saga that succeeds leaves all its effects, in as many commits as it has remote steps, plus one', async () => {
  const id = newId()
  const counting = new CrashingDatabase(db, Number.POSITIVE_INFINITY, 'after')
  await using engine = await open(saga, counting)

  expect(await run(engine, saga, id)).toBe('done')

  expect(await leftOf(id)).toEqual(allOf(id))
  expect(counting.transactions).toBe(3)
})

test.each(trialsOf(saga, (step) => step !== 'never').map((trial) => [trial.label, trial] as const))(
  'a saga that %s ends with all or nothing',
  async (_label, trial) => {
    const id = newId()
    await using engine = await open(trial.saga)

    // A local step before the first remote one fails the start itself: nothing was promised yet.
    const outcome = await run(engine, trial.saga, id).catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    expect(await leftOf(id)).toEqual(trial.ends === 'done' ? allOf(id) : [])
  },
)

test.each([1, 2, 3].flatMap((n) => [[n, 'before'] as const, [n, 'after'] as const]))(
  'a process killed at transaction %i, %s its commit, is succeeded by one that ends the saga',
  async (dieAt, when) => {
    const id = newId()
    const processName = newId()
    const crashing = new CrashingDatabase(db, dieAt, when)
    {
      await using doomed = await open(saga, crashing, processName)
      await run(doomed, saga, id).catch(() => 'never promised')
    }

    await using successor = await open(saga, db, processName)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    await expect.poll(() => leftOf(id)).toEqual(isPromised ? allOf(id) : [])
  },
)

test('a step whose usual way turns out wrong is run the other way, and nothing is left of the first', async () => {
  const [usual, failed] = [newId(), newId()]
  const INSERT = statement(builder.insert(marks).values({ id: sql.placeholder('id') }))
  const steps = saga.steps.map((step): Step<World, Params> => {
    if (step.name !== 'activate' || step.kind !== 'local') return step
    return {
      ...step,
      fastPath: (tx, { params }) => {
        const rows = params.id === usual ? 1 : 2
        tx.queue(
          INSERT,
          { id: `${params.id}:fast` },
          { rows, otherwise: () => new FastPathFailed() },
        )
        return null
      },
    }
  })
  await using engine = await open({ ...saga, steps })

  for (const id of [usual, failed]) expect(await run(engine, { ...saga, steps }, id)).toBe('done')

  expect(await leftOf(usual)).toContain(`${usual}:fast`)
  expect(await leftOf(failed)).toEqual(allOf(failed))
})

test('a step whose remote does not answer is repeated, and its saga rests between tries', async () => {
  const id = newId()
  world.silentFor = 2
  await using engine = await open(saga)

  expect(await run(engine, saga, id)).toBe('done')

  expect(world.asks).toBe(3)
})

test('a process that lost its saga to another changes nothing more', async () => {
  const id = newId()
  const processName = newId()
  let release = () => {}
  const steps = saga.steps.map((step): Step<World, Params> => {
    if (step.name !== 'announce' || step.kind !== 'remote') return step
    return {
      ...step,
      run: async (call: StepCall<World, Params>, signal: AbortSignal) => {
        await new Promise<void>((resolve) => (release = resolve))
        return step.run(call, signal)
      },
    }
  })
  const blocked: Saga<World, Params> = { ...saga, steps }
  await using old = await open(blocked, db, processName)
  const { finished } = await old.start(blocked, {
    subject: id,
    params: { id },
    work: workContext({}),
  })
  await expect.poll(() => world.outside.has(id)).toBe(true)

  await using successor = await open(saga, db, processName)
  await successor.recover()
  await expect.poll(() => leftOf(id)).toEqual(allOf(id))
  release()

  expect(await finished).toBe('handed-over')
  expect(await leftOf(id)).toEqual(allOf(id))
})

test('an undo that keeps failing leaves the saga stuck for an operator', async () => {
  const id = newId()
  const steps = saga.steps.map((step) => {
    if (step.name === 'activate' && step.kind === 'local')
      return { ...step, run: () => Promise.reject(new Failure('internal', 'no')) }
    if (step.name === 'build' && step.kind === 'remote')
      return { ...step, undo: () => Promise.reject(new Failure('conflict', 'cannot')) }
    return step
  })
  const tried: Saga<World, Params> = { ...saga, steps }
  await using engine = await open(tried)

  expect(await run(engine, tried, id)).toBe('stuck')

  const [row] = await db.orm.select().from(sagas).where(eq(sagas.subject, id))
  expect(row?.state).toBe('stuck')

  expect(await continueSaga(db, row!.id)).toBe(true)
  expect(await continueSaga(db, row!.id)).toBe(false)
  await using next = await open(saga, db, row!.owner)
  await next.recover()
  const after = () => db.orm.select().from(sagas).where(eq(sagas.subject, id))
  await expect.poll(async () => (await after())[0]?.state).toBe('unwound')
})

test('a saga from which an exception escapes is set aside before its process ends', async () => {
  const id = newId()
  const escaping: Saga<World, Params> = {
    ...saga,
    steps: saga.steps.map((step) =>
      step.name === 'announce' && step.kind === 'remote'
        ? {
            ...step,
            run: (_: StepCall<World, Params>, signal: AbortSignal) => {
              const aborted = new Promise<never>((_resolve, reject) =>
                signal.addEventListener('abort', () => reject(signal.reason as Error)),
              )
              void setOwnTaskAside('An exception escaped from it.')
              return aborted
            },
          }
        : step,
    ),
  }
  await using engine = await open(escaping)
  void run(engine, escaping, id)

  const rows = () => db.orm.select().from(sagas).where(eq(sagas.subject, id))
  await expect.poll(async () => (await rows())[0]?.state).toBe('stuck')
})

test('the last step of a saga that is set aside is kept, and no other saga takes a further one', async () => {
  const [escapes, other] = [newId<string>(), newId<string>()]
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const steps = saga.steps.map((step): Step<World, Params> => {
    if (step.name !== 'announce' || step.kind !== 'remote') return step
    const run = async ({ params }: StepCall<World, Params>, signal: AbortSignal) => {
      if (params.id === other) {
        asked.resolve()
        await answered.promise
        return null
      }
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      void setOwnTaskAside('An exception escaped from it.')
      await aborted
      await systemClock.sleep(50)
      return 'announced'
    }
    return { ...step, run }
  })
  const again: Step<World, Params> = {
    kind: 'remote',
    name: 'again',
    run: async ({ deps, params }) => {
      deps.outside.add(`${params.id}:again`)
      return null
    },
    undo: 'none',
  }
  const tried: Saga<World, Params> = { ...saga, steps: [...steps, again] }
  await using engine = await open(tried)
  const otherRun = run(engine, tried, other)
  await asked.promise
  expect(await run(engine, tried, escapes)).toBe('handed-over')
  answered.resolve()

  expect(await otherRun).toBe('handed-over')
  expect(await leftOf(other)).not.toContain(`${other}:again`)
  const row = async () => {
    const [found] = await db.orm.select().from(sagas).where(eq(sagas.subject, escapes))
    return found
  }
  await expect.poll(async () => (await row())?.state).toBe('stuck')
  expect((await row())?.log).toContainEqual({
    ...{ step: 'announce', event: 'succeeded', data: 'announced' },
  })
})
