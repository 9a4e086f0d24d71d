import { expect, test } from 'vitest'
import { SampleSagas, sampleSaga as sagaOf } from '#test/env/sample-sagas.ts'
import { workContext } from '../context.ts'
import { Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import { readFailure } from './log.ts'

// Goal: what a saga does when a step fails, stays silent, or can only be repeated, and what its row then says.

const sample = new SampleSagas('saga_execution')
const { done, logged, pauses, local, remote, failing, open, run, rowOf, wake, settled } = sample

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

  expect(await readFailure(sample.db, id)).toMatchObject(kept)
})

test('of a saga in which nothing failed, or that is not there, no failure is read', async () => {
  const saga = sagaOf([remote('build')])
  await using engine = await open(saga)

  expect(await readFailure(sample.db, (await run(engine, saga)).id)).toBeUndefined()
  expect(await readFailure(sample.db, newId())).toBeUndefined()
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
