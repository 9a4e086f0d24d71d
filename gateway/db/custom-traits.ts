import { asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { customTraits } from './schema/placement.ts'

/** Traits that administrators made, in order. */
export async function listCustomTraits(db: Executor): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ name: customTraits.name })
    .from(customTraits)
    .orderBy(asc(customTraits.name))
  return rows.map(({ name }) => name)
}

/** False for one that is there. */
export async function insertCustomTrait(db: Executor, name: string): Promise<boolean> {
  const [result] = await db.orm
    .insert(customTraits)
    .ignore()
    .values({ name, createdAt: sql`now(3)` })
  return result.affectedRows === 1
}

/** False for one that is not there. */
export async function deleteCustomTrait(tx: Tx, name: string): Promise<boolean> {
  const [result] = await tx.orm.delete(customTraits).where(eq(customTraits.name, name))
  return result.affectedRows === 1
}

/** Of these the ones that are there; none of them is deleted until the transaction ends. */
export async function lockCustomTraits(
  tx: Tx,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const among = inArray(customTraits.name, [...names])
  await lockRows(tx, customTraits, among, customTraits.name)
  const rows = await tx.orm.select({ name: customTraits.name }).from(customTraits).where(among)
  return new Set(rows.map(({ name }) => name))
}
