import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { SampleSagas, sampleSaga as sagaOf } from '#test/env/sample-sagas.ts'
import { workContext } from '../context.ts'
import type { Transactional } from '../db/database.ts'
import { type ErrorKind, Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import { seizeLease } from './lease.ts'
import { readFailure, SagaLost } from './log.ts'
import { sagas } from './schema.ts'

// Goal: what a saga leaves for the next process when its own stops, loses its database or its lease, and what is logged.

const sample = new SampleSagas('saga_interrupted')
const { done, ended, logged, local, remote, failing, open, run, rowOf } = sample

const start = () => {
  const id = newId<string>()
  return { subject: id, params: { id }, work: workContext({}) }
}
const messages = () => logged.map(({ message }) => message)

/** The database, of which transactions fail while `kind` is set. */
function failingDatabase() {
  const seen: { kind?: ErrorKind } = {}
  const { db } = sample
  const on: Transactional = {
    orm: db.orm,
    rows: (...call) => db.rows(...call),
    run: (...call) => db.run(...call),
    transaction: async (work) => {
      const result = await db.transaction(work)
      if (seen.kind !== undefined) throw new Failure(seen.kind, `lost: ${seen.kind}`)
      return result
    },
    onCommit: (listener) => db.onCommit(listener),
  }
  return { seen, on }
}

/** A step whose remote answers when the test says so. */
function gate() {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const pass = async () => {
    asked.resolve()
    await answered.promise
    return null
  }
  return { asked: asked.promise, answer: answered.resolve, pass }
}

test('a process that stops keeps the answer that it waits for, and takes no further step', async () => {
  const { asked, answer, pass } = gate()
  const saga = sagaOf([remote('build', { run: pass }), local('note'), remote('tell')])
  const engine = await open(saga)
  const begun = start()
  const { finished } = await engine.start(saga, begun)
  await asked

  const stopped = engine[Symbol.asyncDispose]()
  answer()
  await stopped

  expect(await finished).toBe('handed-over')
  expect(done).toEqual(['note'])
  const [row] = await sample.db.orm.select().from(sagas).where(eq(sagas.subject, begun.subject))
  expect(row).toMatchObject({ state: 'running', execution: 'idle' })
})

test('a process that stops while a saga unwinds undoes no further step', async () => {
  const { asked, answer, pass } = gate()
  const undo = async () => void (await pass())
  const saga = sagaOf([remote('build'), remote('join', { undo }), local('no', { run: failing() })])
  const engine = await open(saga)
  const { finished } = await engine.start(saga, start())
  await asked

  const stopped = engine[Symbol.asyncDispose]()
  answer()
  await stopped

  expect(await finished).toBe('handed-over')
  expect(done.filter((each) => each === 'undo build')).toEqual([])
})

test('the row of a saga says why it unwinds before any step is undone', async () => {
  let seen: Awaited<ReturnType<typeof rowOf>> | undefined
  const undo = async ({ params }: { params: { id: string } }) => {
    seen = await rowOf(params.id)
  }
  const saga = sagaOf([remote('refuse', { run: failing(), undo })])
  await using engine = await open(saga)

  await run(engine, saga)

  expect(seen).toMatchObject({ state: 'unwinding' })
  expect(seen?.log.map(({ event }) => event)).toContain('failed')
})

test('a saga that is taken up before a step of its own database commits exactly that step, and goes on', async () => {
  const steps = [remote('build'), local('note'), remote('tell', { run: failing('unavailable') })]
  const [processName, saga] = [newId<string>(), sagaOf(steps)]
  const begun = start()
  {
    await using engine = await open(sagaOf([steps[0]!]), { processName })
    await (await engine.start(sagaOf([steps[0]!]), begun)).finished
  }
  const built = [{ step: 'build', event: 'succeeded', data: 'build' }] as const
  await sample.db.orm
    .update(sagas)
    .set({ state: 'running', log: [...built] })
    .where(eq(sagas.subject, begun.subject))

  await using next = await open(saga, { processName })
  expect(await next.recover()).toBe(1)

  await expect.poll(messages).toContain('saga rests')
  expect(ended).toEqual(['done'])
  expect((await rowOf(begun.subject)).log).toEqual([
    ...built,
    { step: 'note', event: 'succeeded', data: 'note' },
    { step: 'tell', event: 'started', data: null },
  ])
})

test.each([
  ['unavailable', 'warn'],
  ['internal', 'error'],
] as const)(
  'a saga whose commit ends with %s before any step of its own database goes on later',
  async (kind, level) => {
    const { seen, on } = failingDatabase()
    const lose = async () => {
      seen.kind = kind
      return null
    }
    const saga = sagaOf([remote('build', { run: lose }), remote('tell')])
    await using engine = await open(saga, { on })

    const { outcome, subject } = await run(engine, saga)

    expect(outcome).toBe('handed-over')
    expect((await rowOf(subject)).state).toBe('running')
    expect(logged).toMatchObject([{ level, message: 'saga handed over' }])
    expect(JSON.stringify(logged)).toContain(`lost: ${kind}`)
  },
)

test('a step of the own database that cannot reach it is tried later, and unwinds nothing', async () => {
  const saga = sagaOf([remote('build'), local('note', { run: failing('unavailable') })])
  await using engine = await open(saga)

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('handed-over')
  expect((await rowOf(subject)).state).toBe('running')
  expect(messages()).toEqual(['saga handed over'])
})

test('a saga that another process has taken is not unwound by the one that had it', async () => {
  const processName = newId<string>()
  const take = async () => {
    const lease = await seizeLease(sample.db, processName, newId(), 60_000)
    const { generation } = lease
    await sample.db.orm.update(sagas).set({ generation }).where(eq(sagas.owner, processName))
    return null
  }
  const saga = sagaOf([remote('build', { run: take }), local('note')])
  await using engine = await open(saga, { processName })

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('handed-over')
  expect((await rowOf(subject)).state).toBe('running')
  expect(messages()).toEqual(['saga handed over'])
})

test('an undo that cannot reach the own database is tried later, and is not stuck', async () => {
  const { seen, on } = failingDatabase()
  const undo = async () => {
    seen.kind = 'unavailable'
  }
  const saga = sagaOf([remote('build', { undo }), remote('refuse', { run: failing() })])
  await using engine = await open(saga, { on })

  const { outcome, subject } = await run(engine, saga)

  expect(outcome).toBe('handed-over')
  expect((await rowOf(subject)).state).toBe('unwinding')
})

test.each([
  ['its saga was taken by another process', () => new SagaLost(newId()), 'stuck'],
  ['it fails by itself', () => new Failure('internal', 'broken'), 'stuck'],
] as const)('an undo is tried once where %s', async (_, error, ends) => {
  const undo = async () => {
    done.push('undo')
    throw error()
  }
  const saga = sagaOf([local('note', { undo }), remote('refuse', { run: failing() })])
  await using engine = await open(saga)

  expect((await run(engine, saga)).outcome).toBe(ends)
  expect(done.filter((each) => each === 'undo')).toHaveLength(1)
})

test('why a step of the own database failed is kept as it was said', async () => {
  const saga = sagaOf([remote('build'), local('note', { run: failing('over-quota') })])
  await using engine = await open(saga)

  const { id } = await run(engine, saga)

  const kept = { kind: 'over-quota', message: 'no: over-quota' }
  expect(await readFailure(sample.db, id)).toMatchObject(kept)
})

test('each line of a log names the saga, what it is about, its request, and the step', async () => {
  const stuck = { undo: failing('internal') as () => Promise<never> }
  const saga = sagaOf([remote('build', stuck), remote('ask', { run: failing('conflict') })])
  await using engine = await open(saga)
  const { subject, id } = await run(engine, saga)
  const resting = sagaOf([remote('wait', { run: failing('unavailable') })])
  await using other = await open(resting)
  const rests = await run(other, resting)

  const of = (message: string) => logged.find((line) => line.message === message)?.fields
  const requestId = expect.stringMatching(/./)
  const named = { saga: id, saga_name: 'sample', subject, request_id: requestId }
  expect(of('saga unwinds')).toMatchObject({ ...named, step: 'ask', error: 'no: conflict' })
  expect(of('saga stuck')).toMatchObject({ ...named, step: 'build', error: 'no: internal' })
  const ofOther = { saga: rests.id, subject: rests.subject, error: 'no: unavailable' }
  expect(of('saga rests')).toMatchObject(ofOther)
})
