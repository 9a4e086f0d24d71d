import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Clock } from '#common/clock.ts'
import { workContext } from '#common/context.ts'
import { Database, type Transactional } from '#common/db/database.ts'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { LocalStep, RemoteStep, Saga, SagaOutcome, Step } from '#common/saga/saga.ts'
import { sagas } from '#common/saga/schema.ts'
import { migratedDatabase } from './migrated-database.ts'

interface Params {
  readonly id: string
}
type AnyStep = Step<object, Params>

/** Sagas of a test file on a database of its own, whose steps say what they did. */
export class SampleSagas {
  /** What steps did and undid, in order. */
  readonly done: string[] = []
  readonly logged: { level: string; message: string; fields: Record<string, unknown> }[] = []
  /** How sagas ended, as their processes were told. */
  readonly ended: SagaOutcome[] = []
  readonly pauses: number[] = []
  #db: Database | undefined

  /** `name`: of the database. Everything begins empty with each test. */
  constructor(name: string) {
    beforeAll(async () => {
      this.#db = new Database({ url: await migratedDatabase(name, 'cells'), connectionsMax: 8 })
    })
    beforeEach(() => {
      for (const list of [this.done, this.logged, this.ended, this.pauses]) list.length = 0
    })
    afterAll(() => this.#db?.[Symbol.asyncDispose]())
  }

  get db(): Database {
    return this.#db!
  }

  readonly local = (name: string, change: Partial<LocalStep<object, Params>> = {}): AnyStep => {
    return { kind: 'local', ...this.#noted(name), ...change }
  }

  readonly remote = (name: string, change: Partial<RemoteStep<object, Params>> = {}): AnyStep => {
    return { kind: 'remote', ...this.#noted(name), ...change }
  }

  /** A step that fails so often. */
  readonly failing = (kind: ErrorKind = 'conflict', times = Number.POSITIVE_INFINITY) => {
    let left = times
    return async () => {
      this.done.push('failed')
      if (left-- > 0) throw new Failure(kind, `no: ${kind}`)
      return null
    }
  }

  readonly open = (
    saga: Saga<object, Params>,
    { on = this.db as Transactional, processName = newId<string>() } = {},
  ): Promise<SagaEngine<object>> => {
    const [clock, log] = [this.#quickClock(), this.#log()]
    const onEnded = (_saga: unknown, outcome: SagaOutcome) => void this.ended.push(outcome)
    return SagaEngine.open({ db: on, deps: {}, sagas: [saga], processName, clock, log, onEnded })
  }

  /** Begins the saga, and waits until its process has finished with it. */
  readonly run = async (engine: SagaEngine<object>, saga: Saga<object, Params>) => {
    const id = newId<string>()
    const start = { subject: id, params: { id }, work: workContext({}) }
    const started = await engine.start(saga, start)
    return { ...started, subject: id, outcome: await started.finished }
  }

  readonly rowOf = async (subject: string) => {
    const late = sql<number>`timestampdiff(microsecond, now(3), ${sagas.resumeAt}) / 1000`
    const [row] = await this.db.orm
      .select({ id: sagas.id, state: sagas.state, log: sagas.log, pauseMs: late })
      .from(sagas)
      .where(eq(sagas.subject, subject))
    return row!
  }

  /** As if the pause of a saga that rests were over. */
  readonly wake = (subject: string) =>
    this.db.orm.update(sagas).set({ resumeAt: sql`now(3)` }).where(eq(sagas.subject, subject))

  readonly settled = (subject: string) => expect.poll(async () => (await this.rowOf(subject)).state)

  #noted(name: string) {
    return {
      name,
      run: async () => {
        this.done.push(name)
        return name
      },
      undo: async () => {
        this.done.push(`undo ${name}`)
      },
    }
  }

  #log(): Logger {
    const logs = (level: string) => (fields: Record<string, unknown>, message: string) => {
      this.logged.push({ level, message, fields })
    }
    const levels = ['info', 'warn', 'error'].map((level) => [level, logs(level)])
    return Object.fromEntries(levels) as unknown as Logger
  }

  /** Pauses pass at once, but for those between renewals of the lease, which never come. */
  #quickClock(): Clock {
    let now = 0
    return {
      now: () => Date.now(),
      elapsed: () => now,
      sleep: (ms, signal) => {
        if (ms === 1_500)
          return new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason as Error))
          })
        this.pauses.push(ms)
        now += ms
        return Promise.resolve()
      },
    }
  }
}

export function sampleSaga(steps: readonly AnyStep[], version = 1): Saga<object, Params> {
  return { name: 'sample', version, steps }
}
