import { eq, gt, inArray, sql } from 'drizzle-orm'
import { int, mysqlTable } from 'drizzle-orm/mysql-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Relay } from '#test/env/relay.ts'
import { Failure } from '../errors.ts'
import { keptWork } from '../kept-work.ts'
import { token } from './columns.ts'
import { Database } from './database.ts'
import { databaseFailure, isDuplicate, isOvertaken } from './failures.ts'
import { builder, statement } from './statement.ts'

const things = mysqlTable('things', { id: int('id').primaryKey(), name: token('name') })

let relay: Relay
let db: Database

beforeAll(async () => {
  relay = await Relay.open(await freshDatabase('database'))
  db = new Database({ url: relay.url, connectionsMax: 4 })
  await db.orm.execute(sql`create table things (id int primary key, name varchar(64))`)
  await db.orm.insert(things).values([
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ])
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

test('a taken key is reported as such, without the values of the statement', async () => {
  const values = { id: 1, name: 'a secret name' }

  for (const insert of [
    () => db.orm.insert(things).values(values),
    () => db.transaction((tx) => tx.orm.insert(things).values(values)),
  ]) {
    const error = await failureOf(insert())

    expect(isDuplicate(error, 'PRIMARY')).toBe(true)
    expect(String((error as Error).message)).not.toContain('a secret name')
  }
})

test('a database without room is unavailable, and says why', async () => {
  await using small = new Database({ url: relay.url, connectionsMax: 1 })
  await small.orm.execute(sql`set session max_heap_table_size = 16384`)
  await small.orm.execute(sql`create table full_things (name char(255)) engine = memory`)
  const fill = sql`insert into full_things select repeat('x', 255) from seq_1_to_1000`

  for (const run of [
    () => small.orm.execute(fill),
    () => small.transaction((tx) => tx.orm.execute(fill)),
  ])
    expect(await failureOf(run())).toMatchObject({
      kind: 'unavailable',
      message: 'The database cannot store more: its disk is full.',
    })
})

test.each([
  ['ER_GET_ERRNO', 'Got error 28 "No space left on device" from storage engine InnoDB'],
  ['ER_ERROR_DURING_COMMIT', 'Got error 122 "Disk quota exceeded" during COMMIT'],
  ['ER_ERROR_ON_WRITE', "Error writing file './binlog' (errno: 28)"],
])('%s for want of room is reported as such', (code, text) => {
  const failure = databaseFailure(Object.assign(new Error(text), { code }))

  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('disk is full') as string,
  })
})

test('queued statements run in their turn, before the next statement that is awaited', async () => {
  const add = statement(
    builder.insert(things).values({ id: sql.placeholder('id'), name: sql.placeholder('name') }),
  )
  const rename = statement(
    builder
      .update(things)
      .set({ name: sql`${sql.placeholder('name')}` })
      .where(eq(things.id, sql.placeholder('id'))),
  )
  const all = statement(builder.select().from(things).where(gt(things.id, 9)).orderBy(things.id))
  const many = Array.from({ length: 400 }, (_, index) => 1_000 + index)

  await db.transaction(async (tx) => {
    tx.queue(add, { id: 10, name: 'ten' })
    expect(await tx.rows(all, {})).toEqual([{ id: 10, name: 'ten' }])
    tx.queue(add, { id: 11, name: 'eleven' })
    tx.queue(rename, { id: 11, name: 'elf' })
    expect(await tx.run(rename, { id: 10, name: 'ten' })).toMatchObject({ affectedRows: 1 })
    tx.queue(rename, { id: 10, name: 'zehn' })
    expect(await tx.orm.select().from(things).where(eq(things.id, 10))).toMatchObject([
      { name: 'zehn' },
    ])
    tx.queue(add, { id: 12, name: 'twelve' })
  })
  // More than goes into one statement.
  await db.transaction((tx) => {
    for (const id of many) tx.queue(add, { id, name: 'one of many' })
  })

  expect(await db.rows(all, {})).toHaveLength(3 + many.length)
})

test('a queued statement that does not match its rows ends the transaction, even if its caller catches errors', async () => {
  const drop = statement(builder.delete(things).where(eq(things.id, sql.placeholder('id'))))
  const expected = { rows: 1, otherwise: () => new Failure('conflict', 'It is gone.') }
  const gone = { kind: 'conflict', message: 'It is gone.' }

  const one = db.transaction((tx) => {
    tx.queue(drop, { id: 2 }, expected)
    tx.queue(drop, { id: 99 }, expected)
  })
  const caught = db.transaction(async (tx) => {
    tx.queue(drop, { id: 2 }, expected)
    tx.queue(drop, { id: 99 }, expected)
    await tx.run(drop, { id: 1 }).catch(() => {})
  })
  const tooMany = db.transaction((tx) => {
    for (let id = 2; id < 1_000; id += 1) tx.queue(drop, { id }, expected)
  })

  for (const each of await Promise.all([one, caught, tooMany].map(failureOf)))
    expect(each).toMatchObject(gone)
  expect(
    await db.orm
      .select()
      .from(things)
      .where(inArray(things.id, [1, 2])),
  ).toHaveLength(2)
})

test('of transactions that come at once each commits or fails by itself, however they travel', async () => {
  const insert = statement(
    builder.insert(things).values({ id: sql.placeholder('id'), name: sql.placeholder('name') }),
  )
  const rename = statement(
    builder
      .update(things)
      .set({ name: 'renamed' })
      .where(eq(things.id, sql.placeholder('renamed'))),
  )
  const otherwise = () => new Failure('conflict', 'It is gone.')
  const committed: number[] = []
  const transaction = (id: number, renamed = id) =>
    db.transaction((tx) => {
      tx.queue(insert, { id, name: 'new' })
      tx.queue(rename, { renamed }, { rows: 1, otherwise })
      tx.afterCommit(() => committed.push(id))
    })
  const ids = Array.from({ length: 20 }, (_, index) => 2_000 + index)

  const ends = await Promise.allSettled(
    ids.map((id) => transaction(id, id === 2_007 ? 9_999 : id)).concat(transaction(1)),
  )

  const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
  expect(failed).toHaveLength(2)
  expect(failed[0]).toMatchObject({ kind: 'conflict', message: 'It is gone.' })
  expect(isDuplicate(failed[1])).toBe(true)
  const good = ids.filter((id) => id !== 2_007)
  expect(committed.toSorted((a, b) => a - b)).toEqual(good)
  const rows = await db.orm.select().from(things).where(gt(things.id, 1_999)).orderBy(things.id)
  expect(rows).toEqual(good.map((id) => ({ id, name: 'renamed' })))
})

test('two transactions that wait for each other both end well: the victim is run again', async () => {
  const bothHaveOne = Promise.withResolvers<void>()
  let holding = 0
  let runs = 0
  const lockBoth = (first: number, second: number) =>
    db.transaction(async (tx) => {
      runs += 1
      await tx.orm.update(things).set({ name: 'x' }).where(eq(things.id, first))
      holding += 1
      if (holding === 2) bothHaveOne.resolve()
      await bothHaveOne.promise
      await tx.orm.update(things).set({ name: 'x' }).where(eq(things.id, second))
    })

  await Promise.all([lockBoth(1, 2), lockBoth(2, 1)])

  expect(runs).toBe(3)
  expect(isOvertaken(Object.assign(new Error('victim'), { code: 'ER_LOCK_DEADLOCK' }))).toBe(true)
})

test('a statement of its own that a deadlock ended is run again', async () => {
  const more = Array.from({ length: 8 }, (_, place) => ({ id: 3_000 + place, name: 'more' }))
  await db.orm.insert(things).values(more)
  const change = builder
    .update(things)
    .set({ name: 'alone' })
    .where(inArray(things.id, [1, 2]))
  const isFree = async (id: number) => {
    const select = sql`select id from things where id = ${id} for update nowait`
    return (await failureOf(db.orm.execute(select))) === undefined
  }

  for (const alone of [
    () => db.run(statement(change), {}),
    () => db.rows(statement(change), {}),
    () =>
      db.orm
        .update(things)
        .set({ name: 'alone' })
        .where(inArray(things.id, [1, 2])),
  ]) {
    let waiting: Promise<unknown> | undefined
    // The database ends the one that changed fewer rows.
    await db.transaction(async (tx) => {
      await tx.orm.update(things).set({ name: 'heavy' }).where(gt(things.id, 2_999))
      await tx.orm.update(things).set({ name: 'heavy' }).where(eq(things.id, 2))
      waiting = alone().then(
        () => 'done',
        (error: unknown) => error,
      )
      await expect.poll(() => isFree(1)).toBe(false)
      await tx.orm.update(things).set({ name: 'heavy' }).where(eq(things.id, 1))
    })

    expect(await waiting).toBe('done')
    const names = await db.orm
      .select()
      .from(things)
      .where(inArray(things.id, [1, 2]))
    expect(names.map(({ name }) => name)).toEqual(['alone', 'alone'])
  }
})

test('idle connections of a burst are closed, and the used one stays open', async () => {
  await using brief = new Database({ url: relay.url, connectionsMax: 4, responseTimeoutMs: 300 })
  const id = statement({
    toSQL: () => ({ sql: 'select connection_id() as id, sleep(0.01) as slept', params: [] }),
  })
  const ids = async (count: number) => {
    const rows = await Promise.all(
      Array.from({ length: count }, () => brief.rows<{ id: number }>(id, {})),
    )
    return rows.flat().map((row) => row.id)
  }
  const all = await ids(4)
  const [used] = await ids(1)
  const openOf = async () => {
    expect(await ids(1)).toEqual([used])
    const [rows] = await brief.orm.execute(
      `select id from information_schema.processlist where id in (${all.join(',')})`,
    )
    return (rows as unknown as { id: number }[]).map((row) => row.id)
  }
  await expect.poll(openOf).toEqual([used])
  expect(new Set(await ids(4)).size).toBe(4)
})

test('a connection that stops responding is given up', async () => {
  await using patient = new Database({ url: relay.url, connectionsMax: 2, responseTimeoutMs: 300 })
  const id = statement({ toSQL: () => ({ sql: 'select connection_id() as id', params: [] }) })
  const two = () => Promise.all([patient.rows(id, {}), patient.rows(id, {})])
  const before = await two()

  const [began, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const locked = patient.transaction(async (tx) => {
    await tx.rows(id, {})
    began.resolve()
    await held.promise
  })
  await began.promise
  relay.set('hold')
  const waiting = [patient.rows(id, {}), patient.orm.select().from(things), locked].map(failureOf)
  held.resolve()
  for (const failure of await Promise.all(waiting))
    expect(failure).toMatchObject({ name: 'Failure', kind: 'unavailable' })

  relay.set('pass')
  expect(before.flat()).not.toContainEqual((await patient.rows(id, {}))[0])
})

test('the database rolls back a transaction of which it hears nothing more', async () => {
  const limit = statement({
    toSQL: () => ({ sql: 'select @@session.idle_transaction_timeout as seconds', params: [] }),
  })

  expect(await db.rows(limit, {})).toEqual([{ seconds: 3 }])
  expect(await db.transaction((tx) => tx.rows(limit, {}))).toEqual([{ seconds: 3 }])
})

test('work on a database that is given up ends at once, and is done again after that', async () => {
  await using patient = new Database({ url: relay.url, connectionsMax: 1, retryMs: 60_000 })
  const id = statement({ toSQL: () => ({ sql: 'select connection_id() as id', params: [] }) })
  await patient.rows(id, {})
  relay.set('hold')
  const begun = [
    patient.rows(id, {}),
    patient.rows(id, {}),
    patient.transaction((tx) => tx.rows(id, {})),
    patient.orm.select().from(things),
  ].map(failureOf)

  patient.giveUp('all')
  for (const failure of await Promise.all([...begun, failureOf(patient.rows(id, {}))]))
    expect(failure).toMatchObject({ name: 'Failure', kind: 'unavailable' })

  relay.set('pass')
  patient.resume()
  expect(await patient.rows(id, {})).toHaveLength(1)
})

test('work that no other program can do waits for a database that is given up, unless the program ends', async () => {
  await using patient = new Database({ url: relay.url, connectionsMax: 1, retryMs: 60_000 })
  const id = statement({ toSQL: () => ({ sql: 'select connection_id() as id', params: [] }) })
  await patient.rows(id, {})
  relay.set('hold')
  const [kept, lost] = [keptWork(() => patient.rows(id, {})), failureOf(patient.rows(id, {}))]

  patient.giveUp('but-kept')
  expect(await lost).toMatchObject({ kind: 'unavailable' })
  relay.set('pass')
  expect(await kept).toHaveLength(1)

  relay.set('hold')
  const ended = failureOf(keptWork(() => patient.rows(id, {})))
  patient.giveUp('all')
  expect(await ended).toMatchObject({ kind: 'unavailable' })
  relay.set('pass')
})

test('a database that is away is unavailable, whichever way it is asked', async () => {
  relay.set('refuse')

  for (const ask of [
    () => db.orm.select().from(things),
    () => db.orm.select().from(things).prepare().execute(),
    () => db.orm.execute(sql`select 1`),
    () => db.orm.$count(things),
    () => db.transaction((tx) => tx.orm.select().from(things)),
  ])
    expect(await failureOf(ask())).toMatchObject({ name: 'Failure', kind: 'unavailable' })
  relay.set('pass')
  expect(await db.orm.select().from(things).where(eq(things.id, 1))).toHaveLength(1)
})
