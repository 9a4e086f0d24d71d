import { eq, type SQL } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Database, type Transactional } from '../db/database.ts'
import { Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { SagaEngine } from './engine.ts'
import type { Saga } from './saga.ts'
import { sagas } from './schema.ts'

// What a process finds when it looks for unfinished sagas while it begins and ends some itself.

interface World {
  asks: number
  readonly mayEnd: Promise<void>
}

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('recover', 'cells')
  db = new Database({ url, connectionsMax: 8 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

const cannot = () => Promise.reject(new Failure('conflict', 'cannot'))

/** One remote step; a saga that is to be stuck fails at it, and at undoing it. */
function sagaThatIs(end: 'done' | 'stuck'): Saga<World, object> {
  const run = async ({ deps }: { deps: World }) => {
    deps.asks += 1
    await deps.mayEnd
    return end === 'done' ? null : cannot()
  }
  return { name: 'sample', version: 1, steps: [{ kind: 'remote', name: 'ask', run, undo: cannot }] }
}

/** A database in which a look for unfinished sagas begins after `begun`, and marks them as taken up after `ended`. */
function slowToAdopt(begun: () => Promise<unknown>, ended: () => Promise<unknown>): Transactional {
  const update = (table: typeof sagas) => ({
    set: (values: object) => ({
      where: async (condition: SQL) => {
        await ended()
        return db.orm.update(table).set(values).where(condition)
      },
    }),
  })
  const orm = { select: () => db.orm.select(), update }
  return {
    orm: orm as unknown as Transactional['orm'],
    rows: async (statement, values) => {
      await begun()
      return db.rows(statement, values)
    },
    run: (statement, values) => db.run(statement, values),
    transaction: (work) => db.transaction(work),
    onCommit: (listener) => db.onCommit(listener),
  }
}

test.each(['done', 'stuck'] as const)(
  'a saga that begins and is %s while its process looks for sagas to take up is not taken up',
  async (end) => {
    const saga = sagaThatIs(end)
    const begun = Promise.withResolvers<unknown>()
    const mayEnd = Promise.withResolvers<void>()
    let isAdopting = false
    let finished: Promise<unknown> = Promise.resolve()
    const slow = slowToAdopt(
      () => (isAdopting ? begun.promise : Promise.resolve()),
      () => {
        mayEnd.resolve()
        return finished
      },
    )
    const world = { asks: 0, mayEnd: mayEnd.promise }
    const log = createLogger('test', 'silent')
    const options = { db: slow, deps: world, sagas: [saga], clock: systemClock, log }
    await using engine = await SagaEngine.open({ ...options, processName: newId() })

    isAdopting = true
    const adoption = engine.recover()
    const start = { subject: newId(), params: {}, work: workContext({}) }
    const run = await engine.start(saga, start)
    ;({ finished } = run)
    begun.resolve(undefined)
    expect(await adoption).toBe(0)
    mayEnd.resolve()

    expect(await finished).toBe(end)
    expect(world.asks).toBe(1)
    const [row] = await db.orm.select().from(sagas).where(eq(sagas.id, run.id))
    expect(row?.state).toBe(end)
  },
)
