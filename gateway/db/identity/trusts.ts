import { and, asc, count, eq, gt, inArray, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Trust } from '../../app/identity/trust.ts'
import { trusts as table } from '../schema/identity.ts'
import { deleteTokens } from './tokens.ts'

export async function findTrust(db: Executor, id: string): Promise<Trust | undefined> {
  const [row] = await db.orm.select().from(table).where(eq(table.id, id))
  return row && trustOf(row)
}

/** Locks the trust until the transaction ends; false when it does not exist. */
export async function lockTrust(tx: Tx, id: string): Promise<boolean> {
  return (await idsOf(tx, eq(table.id, id))).length > 0
}

/** The trust and those that it redelegates, the first one last; empty when there is no such trust. */
export async function trustChain(db: Executor, id: string): Promise<readonly Trust[]> {
  const chain: Trust[] = []
  for (let next: string | null = id; next !== null; ) {
    const trust = await findTrust(db, next)
    // One by which others were given on does not go before them, but for a moment between two reads.
    if (trust === undefined) return []
    chain.push(trust)
    next = trust.redelegatedTrustId
  }
  return chain
}

export interface TrustFilter {
  readonly trustorUserId?: string | undefined
  readonly trusteeUserId?: string | undefined
  readonly marker?: string | undefined
}

/** Those that fit every given filter, in the order of their ids. */
export async function listTrusts(
  db: Executor,
  { trustorUserId, trusteeUserId, marker }: TrustFilter,
  limit: number,
): Promise<readonly Trust[]> {
  const rows = await db.orm
    .select()
    .from(table)
    .where(
      and(
        trustorUserId === undefined ? undefined : eq(table.trustorUserId, trustorUserId),
        trusteeUserId === undefined ? undefined : eq(table.trusteeUserId, trusteeUserId),
        marker === undefined ? undefined : gt(table.id, marker),
      ),
    )
    .orderBy(asc(table.id))
    .limit(limit)
  return rows.map(trustOf)
}

/** How many the user has given. */
export async function countTrusts(tx: Tx, trustorUserId: string): Promise<number> {
  const [row] = await tx.orm
    .select({ n: count() })
    .from(table)
    .where(eq(table.trustorUserId, trustorUserId))
  return row?.n ?? 0
}

export async function insertTrust(tx: Tx, trust: Trust): Promise<void> {
  await tx.orm.insert(table).values(trust)
}

/** Afterwards one token less can be had by the trust, where they are counted; throws `forbidden` when there is none left. */
export async function useTrust(tx: Tx, id: string): Promise<void> {
  const isLeft = or(isNull(table.remainingUses), gt(table.remainingUses, 0))
  const [{ affectedRows }] = await tx.orm
    .update(table)
    .set({ remainingUses: sql`${table.remainingUses} - 1` })
    .where(and(eq(table.id, id), isLeft))
  if (affectedRows === 0) throw new Failure('forbidden', `No remaining uses for trust: ${id}.`)
}

/** Afterwards those trusts are gone, with all that were given on by them, and every token of any. */
export async function deleteTrusts(tx: Tx, which: SQL | undefined): Promise<void> {
  let found = await idsOf(tx, which)
  while (found.length > 0) {
    await deleteTokens(tx, { trustIds: found })
    await tx.orm.delete(table).where(inArray(table.id, [...found]))
    found = await idsOf(tx, inArray(table.redelegatedTrustId, [...found]))
  }
}

/** The same for one. */
export async function deleteTrust(tx: Tx, id: string): Promise<void> {
  await deleteTrusts(tx, eq(table.id, id))
}

/** Removes up to `limit` trusts that ended before the time; gives how many. None outlives the one that it was given on by. */
export async function purgeTrusts(db: Executor, before: Date, limit: number): Promise<number> {
  const [result] = await db.orm.delete(table).where(lt(table.expiresAt, before)).limit(limit)
  return result.affectedRows
}

async function idsOf(tx: Tx, which: SQL | undefined): Promise<readonly string[]> {
  const rows = await tx.orm.select({ id: table.id }).from(table).where(which).for('update')
  return rows.map(({ id }) => id)
}

function trustOf(row: typeof table.$inferSelect): Trust {
  return { ...row, roleIds: row.roleIds as readonly string[] }
}
