import { and, asc, eq, gt, lte, sql } from 'drizzle-orm'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { builder, type Statement, sqlStatement, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import { makeHostsAuthoritative } from './hosts.ts'
import { feed, feedState } from './schema/feed.ts'

const p = sql.placeholder
const STATE_ID = 1
/** Of a row that has not been given its number. */
const UNNUMBERED_N = 0

export interface FeedState {
  readonly incarnation: string
  readonly last: number
  readonly acknowledged: number
  readonly removed: number
}

/** A numbered row whose body is still the text it was stored as. */
export interface NumberedText {
  readonly n: number
  readonly body: string
}

const STATE_COLUMNS = {
  incarnation: feedState.incarnation,
  last: feedState.last,
  acknowledged: feedState.acknowledged,
  removed: feedState.removed,
}
const STATE = statement(
  builder.select(STATE_COLUMNS).from(feedState).where(eq(feedState.id, STATE_ID)),
)
const LOCKED_STATE = statement(
  builder.select(STATE_COLUMNS).from(feedState).where(eq(feedState.id, STATE_ID)).for('update'),
)
const ADVANCE = statement(
  builder
    .update(feedState)
    .set({ last: sql`${p('to')}` })
    .where(and(eq(feedState.id, STATE_ID), eq(feedState.last, p('from')))),
)
const NUMBER = sqlStatement(sql`
  update json_table(${p('numbers')}, '$[*]' columns (
    id varchar(36) character set ascii collate ascii_bin path '$.id', n bigint path '$.n')) v
  straight_join feed f on f.id = v.id set f.n = v.n where f.n = ${UNNUMBERED_N}`)
const ACKNOWLEDGE = statement(
  builder
    .update(feedState)
    .set({ acknowledged: sql`greatest(acknowledged, least(last, ${p('position')}))` })
    .where(eq(feedState.id, STATE_ID)),
)
const SET_REMOVED = statement(
  builder
    .update(feedState)
    .set({ removed: sql`greatest(removed, ${p('position')})` })
    .where(eq(feedState.id, STATE_ID)),
)
const UNNUMBERED = statement(
  builder
    .select({ id: feed.id, body: feed.body })
    .from(feed)
    .where(eq(feed.n, UNNUMBERED_N))
    .orderBy(asc(feed.id))
    .limit(p('max')),
)
const NUMBERED = statement(
  builder
    .select({ n: feed.n, body: feed.body })
    .from(feed)
    .where(gt(feed.n, p('after')))
    .orderBy(asc(feed.n))
    .limit(p('max')),
)
const REMOVE = statement(
  builder
    .delete(feed)
    .where(and(gt(feed.n, UNNUMBERED_N), lte(feed.n, p('position'))))
    .limit(p('max')),
)
const OLDEST = statement(
  builder
    .select({ n: feed.n, created_at: feed.createdAt })
    .from(feed)
    .where(gt(feed.n, UNNUMBERED_N))
    .orderBy(asc(feed.n))
    .limit(1),
)

/** Statements that insert one, two, … rows: a change and its feed row cost one round trip. */
const INSERTS = new Map<number, Statement>()

/** Adds changes to the feed, which gateways read once the transaction has committed. */
export function queueFeedRow(tx: Tx, bodies: readonly FeedBody[]): void {
  if (bodies.length === 0) return
  const values: Record<string, unknown> = {}
  bodies.forEach((body, index) => {
    values[`id${index}`] = newId()
    values[`body${index}`] = JSON.stringify(body)
  })
  tx.queue(insertOf(bodies.length), values)
}

/** Afterwards the database has an incarnation; the first process to come gives it one. */
export async function beginFeed(db: Transactional): Promise<FeedState> {
  await db.orm
    .insert(feedState)
    .values({ id: STATE_ID, incarnation: newId(), last: 0, acknowledged: 0, removed: 0 })
    .onDuplicateKeyUpdate({ set: { id: STATE_ID } })
  return readFeedState(db)
}

/**
 * Afterwards gateways see the database as another one and therefore read a full copy of it, and each host's next
 * report is believed.
 */
export async function renewIncarnation(db: Transactional): Promise<void> {
  await db.transaction(async (tx) => {
    await makeHostsAuthoritative(tx)
    await tx.orm.delete(feed)
    await tx.orm.delete(feedState)
  })
  await beginFeed(db)
}

export async function readFeedState(db: Executor): Promise<FeedState> {
  return stateFrom(await db.rows<FeedState>(STATE, {}))
}

/** The state, locked until the transaction ends: one process at a time gives numbers or takes rows away. */
async function lockFeedState(tx: Tx): Promise<FeedState> {
  return stateFrom(await tx.rows<FeedState>(LOCKED_STATE, {}))
}

/**
 * Gives numbers after `last` to at most `max` committed rows and returns them. Rows of transactions that have not
 * committed are not seen and get later numbers. Throws `conflict`, and numbers none, when `last` is not the highest
 * number given: another process gives numbers too. So there are neither holes nor repetitions.
 */
export async function numberFeed(
  db: Transactional,
  last: number,
  max: number,
): Promise<readonly NumberedText[]> {
  const found = await db.rows<{ id: string; body: string }>(UNNUMBERED, { max: BigInt(max) })
  if (found.length === 0) return []
  const numbered = found.map((row, index) => ({ ...row, n: last + index + 1 }))
  const otherwise = () => new Failure('conflict', 'Another process numbers the feed.')
  await db.transaction((tx) => {
    tx.queue(ADVANCE, { from: last, to: last + numbered.length }, { rows: 1, otherwise })
    const numbers = JSON.stringify(numbered.map(({ id, n }) => ({ id, n })))
    tx.queue(NUMBER, { numbers }, { rows: numbered.length, otherwise })
  })
  return numbered
}

/** Rows after a position, in order. */
export async function feedAfter(
  db: Executor,
  after: number,
  max: number,
): Promise<readonly FeedRow[]> {
  const rows = await db.rows<NumberedText>(NUMBERED, { after, max: BigInt(max) })
  return rows.map(({ n, body }) => ({ n, body: JSON.parse(body) as FeedBody }))
}

/** Remembers that the gateways have applied everything up to a position. */
export async function acknowledgeFeed(db: Executor, position: number): Promise<void> {
  await db.run(ACKNOWLEDGE, { position })
}

/** Removes at most `max` rows up to a position and returns how many; readers before it get a gap. */
export async function removeFeed(
  db: Transactional,
  position: number,
  max: number,
): Promise<number> {
  return db.transaction(async (tx) => {
    await lockFeedState(tx)
    await tx.run(SET_REMOVED, { position })
    const { affectedRows } = await tx.run(REMOVE, { position, max: BigInt(max) })
    return affectedRows
  })
}

/** The oldest numbered row; undefined when there is none. */
export async function oldestFeedRow(
  db: Executor,
): Promise<{ readonly n: number; readonly createdAt: Date } | undefined> {
  const [row] = await db.rows<{ n: number; created_at: Date }>(OLDEST, {})
  return row === undefined ? undefined : { n: row.n, createdAt: row.created_at }
}

function stateFrom(rows: readonly FeedState[]): FeedState {
  const [state] = rows
  if (state === undefined) throw new Error('The feed has no state row')
  return state
}

function insertOf(count: number): Statement {
  const known = INSERTS.get(count)
  if (known !== undefined) return known
  const rows = Array.from({ length: count }, (_, index) => ({
    id: p(`id${index}`),
    n: UNNUMBERED_N,
    body: p(`body${index}`),
    createdAt: sql`now(3)`,
  }))
  const made = statement(builder.insert(feed).values(rows))
  INSERTS.set(count, made)
  return made
}
