import { afterAll, beforeAll, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Database } from '../db/database.ts'
import { Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { type EndedSpan, spanMeasure } from '../trace/span.ts'
import { SagaEngine } from './engine.ts'
import type { Saga } from './saga.ts'
import { stepSpan } from './saga-spans.ts'

// Goal: the trace of a request shows every step of its sagas, every try of it and every undo.

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('saga_traced', 'cells')
  db = new Database({ url, connectionsMax: 4 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** The span that each step and undo was told to be part of, by its name. */
const traces = new Map<string, string>()
let silentFor = 1

const saga: Saga<object, object> = {
  name: 'sample',
  version: 1,
  steps: [
    {
      kind: 'local',
      name: 'reserve',
      run: async (_tx, { work }) => {
        traces.set('reserve', work.traceparent)
        return null
      },
      undo: async (_tx, { work }) => {
        traces.set('undo reserve', work.traceparent)
      },
    },
    {
      kind: 'remote',
      name: 'build',
      run: async () => {
        if (silentFor-- > 0) throw new Failure('unavailable', 'silent')
        return null
      },
      undo: async ({ work }) => {
        traces.set('undo build', work.traceparent)
      },
    },
    {
      kind: 'local',
      name: 'refuse',
      run: () => Promise.reject(new Failure('conflict', 'It is taken.')),
      undo: 'none',
    },
  ],
}

async function spansOf(isSampled: boolean): Promise<readonly EndedSpan[]> {
  const spans: EndedSpan[] = []
  using _listening = spanMeasure.listen((span) => void spans.push(span))
  const log = createLogger('test', 'silent')
  const options = { db, deps: {}, sagas: [saga], clock: systemClock, log }
  await using engine = await SagaEngine.open({ ...options, processName: newId() })
  const work = workContext({ isSampled })
  const run = await engine.start(saga, { subject: 'server', params: {}, work })
  expect(await run.finished).toBe('unwound')
  return spans
}

test('each try of a step and each undo is a span, and what is done in it is part of that span', async () => {
  silentFor = 1
  traces.clear()

  const spans = await spansOf(true)

  const steps = spans.filter(({ kind }) => kind === 'internal')
  const shown = steps.map(({ name, error, attributes }) => [
    name,
    attributes?.['weir.saga.try'],
    error,
  ])
  expect(shown).toEqual([
    ['sample reserve', 1, undefined],
    ['sample build', 1, 'silent'],
    ['sample build', 2, undefined],
    ['sample refuse', 1, 'It is taken.'],
    ['sample undo build', 1, undefined],
    ['sample undo reserve', 1, undefined],
  ])
  for (const name of ['reserve', 'undo reserve', 'undo build'])
    expect(steps.find((span) => span.name === `sample ${name}`)?.traceparent).toBe(traces.get(name))
  expect(spans.find(({ name }) => name === 'transaction')).toMatchObject({
    kind: 'client',
    attributes: { 'db.system.name': 'mariadb', 'db.operation.name': 'transaction' },
  })
})

test('a saga of a request that is not traced makes no spans', async () => {
  silentFor = 0

  expect(await spansOf(false)).toEqual([])
})

test('a span names its saga, its step and what the saga is about', () => {
  const id = newId<never>()
  const record = { id, name: 'boot', version: 1, subject: 'server', params: {} }

  expect(stepSpan({ ...record, work: workContext({}) }, 'build')).toEqual({
    name: 'boot build',
    kind: 'internal',
    attributes: {
      'weir.saga.id': id,
      'weir.saga.name': 'boot',
      'weir.saga.step': 'build',
      'weir.saga.subject': 'server',
      'weir.saga.try': 1,
    },
  })
})
