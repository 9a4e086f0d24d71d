import { asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { revocationCounter, revocations } from '../schema/identity.ts'

const COUNTER_ID = 1
/** More at once than this and it is cheaper to forget everything. */
const READ_MAX = 1_000

const COUNT = statement(
  builder
    .insert(revocationCounter)
    .values({ id: COUNTER_ID, last: 1 })
    .onDuplicateKeyUpdate({ set: { last: sql`${revocationCounter.last} + 1` } }),
)
const LAST = statement(builder.select({ last: revocationCounter.last }).from(revocationCounter))
const INSERT = statement(
  builder.insert(revocations).values({
    number: sql.placeholder('number'),
    tokenId: sql.placeholder('tokenId'),
    createdAt: sql.placeholder('createdAt'),
  }),
)
const AFTER = statement(
  builder
    .select({
      last: sql`${revocationCounter.last}`.as('last'),
      number: sql`${revocations.number}`.as('number'),
      tokenId: revocations.tokenId,
    })
    .from(revocationCounter)
    .leftJoin(revocations, gt(revocations.number, sql.placeholder('seen')))
    .where(eq(revocationCounter.id, COUNTER_ID))
    .orderBy(asc(revocations.number))
    .limit(READ_MAX),
)

/** Numbers a revocation in the transaction that makes it: of one token, or of all when null. */
export async function recordRevocation(tx: Tx, tokenId: string | null): Promise<void> {
  await tx.run(COUNT, {})
  const [row] = await tx.rows<{ last: number }>(LAST, {})
  if (row === undefined) throw new Error('the revocation counter has a row')
  await tx.run(INSERT, { number: row.last, tokenId, createdAt: new Date() })
}

export interface Revocations {
  /** The number of the newest, 0 when there was none yet. */
  readonly last: number
  readonly tokenIds: readonly (string | null)[]
}

/** The revocations after that number, oldest first; the list has holes where rows were purged or exceed its limit. */
export async function revocationsAfter(db: Executor, seen: number): Promise<Revocations> {
  const rows = await db.rows<{ last: number; number: number | null; token_id: string | null }>(
    AFTER,
    { seen },
  )
  return {
    last: Number(rows[0]?.last ?? 0),
    tokenIds: rows.filter(({ number }) => number !== null).map((row) => row.token_id),
  }
}

/** Removes up to `limit` revocations made before the time; gives how many. */
export async function purgeRevocations(db: Executor, before: Date, limit: number): Promise<number> {
  const [result] = await db.orm
    .delete(revocations)
    .where(lt(revocations.createdAt, before))
    .limit(limit)
  return result.affectedRows
}
