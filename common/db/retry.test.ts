import { eq, sql } from 'drizzle-orm'
import { int, mysqlTable } from 'drizzle-orm/mysql-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Relay } from '#test/env/relay.ts'
import { token } from './columns.ts'
import { newCommitMarker } from './commit-markers.ts'
import { Database } from './database.ts'
import { builder, statement } from './statement.ts'

// Goal: work waits for a database that is away, and has its effect once however its connection ends.

const things = mysqlTable('things', { id: int('id').primaryKey(), name: token('name') })

let relay: Relay
let db: Database

beforeAll(async () => {
  relay = await Relay.open(await freshDatabase('database_retry'))
  db = new Database({ url: relay.url, connectionsMax: 4 })
  await db.orm.execute(sql`create table things (id int primary key, name varchar(64))`)
  await db.orm.insert(things).values({ id: 1, name: 'one' })
})

afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
  await relay?.[Symbol.asyncDispose]()
})

const failureOf = async (promise: PromiseLike<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

const add = statement(
  builder.insert(things).values({ id: sql.placeholder('id'), name: sql.placeholder('name') }),
)
const addThing = (to: Database, id: number) =>
  to.transaction((tx) => {
    tx.queue(add, { id, name: 'added' })
    return id
  })
const namesOf = (id: number) => db.orm.select().from(things).where(eq(things.id, id))

test.each<[string, (to: Database) => PromiseLike<unknown>]>([
  ['a query', (to) => to.orm.select().from(things).where(eq(things.id, 1))],
  ['a prepared query', (to) => to.rows(statement(builder.select().from(things)), {})],
  ['a prepared statement', (to) => to.run(add, { id: 5_000, name: 'run' })],
  ['a statement', (to) => to.orm.insert(things).values({ id: 5_001, name: 'built' })],
  ['a transaction that queues', (to) => addThing(to, 5_002)],
  [
    'a transaction',
    (to) => to.transaction((tx) => tx.orm.insert(things).values({ id: 5_003, name: 'tx' })),
  ],
])('%s waits for a database that cannot be reached', async (_, work) => {
  await using patient = new Database({ url: relay.url, connectionsMax: 4, retryMs: 20_000 })
  relay.set('refuse')
  const { refusals } = relay
  const working = failureOf(work(patient))
  await expect.poll(() => relay.refusals).toBeGreaterThan(refusals + 1)
  relay.set('pass')

  expect(await working).toBeUndefined()
})

test.each(['a statement', 'the commit'] as const)(
  'a transaction whose connection has ended before %s is run again',
  async (next) => {
    await using marked = await openMarked()
    const id = next === 'a statement' ? 5_010 : 5_012
    let tries = 0

    await marked.transaction(async (tx) => {
      tries += 1
      await tx.run(add, { id, name: 'before' })
      if (tries === 1) {
        relay.set('refuse')
        await expect.poll(() => marked.use.open).toBe(0)
        relay.set('pass')
      }
      if (next === 'a statement') await tx.run(add, { id: id + 1, name: 'after' })
    })

    expect(tries).toBe(2)
    expect(await namesOf(id)).toHaveLength(1)
  },
)

/** A database whose transactions leave marks. */
async function openMarked(): Promise<Database> {
  await db.orm.execute(sql`create table if not exists commit_markers (
    id char(36) character set ascii collate ascii_bin primary key, is_commit boolean not null,
    created_at datetime(3) not null)`)
  return new Database({ url: relay.url, connectionsMax: 4, retryMs: 5_000, marksCommits: true })
}

test.each(['loseAnswerTo', 'loseNext'] as const)(
  'a transaction commits once where the connection ends under its commit (%s)',
  async (lose) => {
    await using marked = await openMarked()
    const id = lose === 'loseNext' ? 6_000 : 6_001
    const received: number[] = []

    const lost = relay[lose]('; commit;')
    const added = marked.transaction((tx) => {
      tx.afterCommit(() => received.push(id))
      tx.queue(add, { id, name: 'added' })
      return id
    })
    expect(await added).toBe(id)

    await lost
    expect(await namesOf(id)).toHaveLength(1)
    expect(received).toEqual([id])
  },
)

test.each(['insert into `things`', '; commit;'])(
  'a statement by itself has its effect once where the connection ends under it (%s)',
  async (part) => {
    await using marked = await openMarked()
    const id = part === '; commit;' ? 6_010 : 6_011
    const rename = statement(
      builder
        .update(things)
        .set({ name: sql`concat(${things.name}, '!')` })
        .where(eq(things.id, sql.placeholder('id'))),
    )

    const lost = relay.loseAnswerTo(part)
    await marked.orm.insert(things).values({ id, name: 'by itself' })
    await lost
    const lostAgain = relay.loseAnswerTo(part === '; commit;' ? part : 'update `things`')
    const { affectedRows } = await marked.run(rename, { id })
    await lostAgain

    expect(await namesOf(id)).toEqual([{ id, name: 'by itself!' }])
    expect(affectedRows).toBe(1)
  },
)

test.each([1180, 1317])(
  'transactions that commit together have their effect once where the commit is answered with error %i',
  async (number) => {
    await using marked = await openMarked()
    const id = 6_020 + (number === 1180 ? 0 : 10)

    const answered = relay.answerWithError('; commit;', number)
    const added = await Promise.all([addThing(marked, id), addThing(marked, id + 1)])
    await answered

    expect(added).toEqual([id, id + 1])
    expect(await namesOf(id)).toHaveLength(1)
  },
)

test('a connection whose settings the database refuses is not used', async () => {
  await using patient = new Database({ url: relay.url, connectionsMax: 4, retryMs: 5_000 })

  const refused = relay.answerWithError('TRANSACTION ISOLATION LEVEL', 1927)
  const rows = await patient.orm.select().from(things).where(eq(things.id, 1))
  await refused

  expect(rows).toHaveLength(1)
  await expect.poll(() => patient.use.open).toBe(1)
})

test('an unanswered look for a commit does not count as the commit', async () => {
  await using marked = await openMarked()
  const { hasCommitted } = newCommitMarker()

  const lost = relay.loseAnswerTo('insert into `commit_markers`')
  expect(await hasCommitted(marked)).toBe(false)

  await lost
  expect(await hasCommitted(marked)).toBe(false)
})

test('a transaction without a trace of its commit is not repeated where it may have committed', async () => {
  await using unmarked = new Database({ url: relay.url, connectionsMax: 4, retryMs: 5_000 })

  const lost = relay.loseAnswerTo('; commit;')
  const failure = await failureOf(addThing(unmarked, 6_002))

  await lost
  expect(failure).toMatchObject({ kind: 'unavailable' })
  expect(await namesOf(6_002)).toHaveLength(1)
})

test('a statement that may have had its effect is not repeated, and a query is', async () => {
  await using patient = new Database({ url: relay.url, connectionsMax: 4, retryMs: 5_000 })

  const answer = relay.loseAnswerTo('insert into `things`')
  const failure = await failureOf(patient.orm.insert(things).values({ id: 6_003, name: 'once' }))
  await answer
  const question = relay.loseAnswerTo('from `things`')
  const rows = await patient.orm.select().from(things).where(eq(things.id, 6_003))
  await question

  expect(failure).toMatchObject({ kind: 'unavailable' })
  expect(rows).toHaveLength(1)
})
