import { inArray } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Database } from '../db/database.ts'
import { Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import type { IsolatedEnd } from '../isolated/isolated-process.ts'
import { createLogger } from '../log.ts'
import { SagaEngine, type SagaEngineOptions } from './engine.ts'
import { executeIsolated, type IsolatedSaga } from './execute-isolated.ts'
import { continueSaga } from './log.ts'
import type { Json, Saga, SagaOutcome } from './saga.ts'
import { sagas } from './schema.ts'

// Goal: a saga that may have ended a process is given to an isolated process, and its row says how the trial ended.

interface Deps {
  /** False: the step waits until its process stops. */
  answers: boolean
  silentFor: number
}
type Params = { readonly fails: boolean }

const no = () => Promise.reject(new Failure('internal', 'no'))
const saga: Saga<Deps, Params> = {
  name: 'sample',
  version: 1,
  steps: [
    {
      kind: 'remote',
      name: 'build',
      run: ({ deps, params }, signal) => {
        if (params.fails) return no()
        if (deps.silentFor-- > 0) return Promise.reject(new Failure('unavailable', 'silent'))
        if (deps.answers) return Promise.resolve(null)
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        )
      },
      undo: no,
    },
  ],
}

const log = createLogger('test', 'silent')
let db: Database
let deps: Deps

beforeAll(async () => {
  const url = await migratedDatabase('saga_isolated', 'cells')
  db = new Database({ url, connectionsMax: 8 })
})
beforeEach(() => {
  deps = { answers: false, silentFor: 0 }
})
afterAll(() => db?.[Symbol.asyncDispose]())

function open(
  processName: string,
  change: Pick<SagaEngineOptions<Deps>, 'isolated' | 'onEnded'> = {},
): Promise<SagaEngine<Deps>> {
  const options = { db, deps, sagas: [saga], processName, clock: systemClock, log }
  return SagaEngine.open({ ...options, ...change })
}

async function begin(engine: SagaEngine<Deps>, subject: string, fails = false) {
  return engine.start(saga, { subject, params: { fails }, work: workContext({}) })
}

function rowsOf(...subjects: string[]) {
  return db.orm.select().from(sagas).where(inArray(sagas.subject, subjects))
}

function doneIsolated(
  task: IsolatedSaga,
  known: readonly Saga<Deps, Params>[] = [saga],
): Promise<SagaOutcome | 'handed-over'> {
  const { signal } = new AbortController()
  return executeIsolated({ db, deps, sagas: known, clock: systemClock, log }, task, signal)
}

test('sagas on which a process worked when it ended are tried in an isolated process, and their rows have the result', async () => {
  const [innocent, guilty, left] = [newId<string>(), newId<string>(), newId<string>()]
  const processName = newId<string>()
  await using first = await open(processName)
  const subjects = new Map<string, string>()
  for (const subject of [innocent, guilty, left])
    subjects.set((await begin(first, subject)).id, subject)
  const why = 'It ended its process with code 3.'
  const tried: string[] = []
  const isolated = {
    run: async (task: Json): Promise<IsolatedEnd> => {
      const asked = task as unknown as IsolatedSaga
      const subject = subjects.get(asked.id)!
      tried.push(subject)
      if (subject === guilty) return { kind: 'guilty', why }
      if (subject === left) return { kind: 'left' }
      return { kind: 'ended', answer: await doneIsolated(asked) }
    },
  }
  const ended: [string, string][] = []
  const onEnded = ({ subject }: { subject: string }, outcome: string) => {
    ended.push([subject, outcome])
  }
  deps.answers = true

  await using next = await open(processName, { isolated, onEnded })
  await next.recover()

  await expect
    .poll(() => Object.fromEntries(ended))
    .toEqual({ [innocent]: 'done', [guilty]: 'stuck' })
  const rowOf = async (subject: string) => (await rowsOf(subject))[0]!
  expect(await rowOf(guilty)).toMatchObject({ state: 'stuck', why })
  expect(await rowOf(innocent)).toMatchObject({ state: 'done' })
  // It rests, and is tried in an isolated process again, not here.
  await expect.poll(async () => (await rowOf(left)).resumeAt.getTime() > Date.now()).toBe(true)
  expect(await rowOf(left)).toMatchObject({ state: 'running', execution: 'suspect' })
  expect(new Set(tried)).toEqual(new Set([innocent, guilty, left]))
})

test('a saga that an operator continues is tried in an isolated process', async () => {
  const subject = newId<string>()
  const tried: Json[] = []
  const isolated = {
    run: async (task: Json): Promise<IsolatedEnd> => {
      tried.push(task)
      return { kind: 'left' }
    },
  }
  await using engine = await open(newId(), { isolated })
  const { id, finished } = await begin(engine, subject, true)
  expect(await finished).toBe('stuck')
  expect((await rowsOf(subject))[0]?.why).toBe('step build could not be undone: no')

  await continueSaga(db, id)
  await engine.recover()

  expect(tried).toEqual([expect.objectContaining({ kind: 'saga', id })])
})

test('an isolated saga waits for a remote that does not answer, and stops when its process no longer holds it', async () => {
  const [own, lost] = [newId<string>(), newId<string>()]
  const processName = newId<string>()
  await using first = await open(processName)
  const { id } = await begin(first, own)
  const { id: lostId } = await begin(first, lost)
  const { generation } = (await rowsOf(own))[0]!
  const lease = { name: processName, holder: '', generation }
  deps.answers = true
  deps.silentFor = 5

  expect(await doneIsolated({ kind: 'saga', id, lease })).toBe('done')
  const older = { ...lease, generation: generation - 1 }
  expect(await doneIsolated({ kind: 'saga', id: lostId, lease: older })).toBe('handed-over')
  expect((await rowsOf(lost))[0]?.state).toBe('running')
})

test('an isolated process executes the saga of the name that was begun, and none where it does not know the name', async () => {
  const subject = newId<string>()
  const processName = newId<string>()
  await using first = await open(processName)
  const { id } = await begin(first, subject)
  const task = { kind: 'saga', id, lease: first.lease } as const
  const other: Saga<Deps, Params> = {
    name: 'other',
    version: 1,
    steps: [{ kind: 'remote', name: 'fail', run: no, undo: no }],
  }
  deps.answers = true

  expect(await doneIsolated(task, [other])).toBe('handed-over')
  expect((await rowsOf(subject))[0]?.state).toBe('running')
  expect(await doneIsolated(task, [other, saga])).toBe('done')
})
