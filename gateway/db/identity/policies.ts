import { and, asc, eq } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { Extra, ListFilter } from '../../app/identity/model.ts'
import { policies as table } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'

/** Rules that another service keeps here. */
export interface StoredPolicy {
  readonly id: string
  readonly type: string
  readonly blob: string
  readonly extra: Extra
}

/** Those that fit, in the order of their ids; the names of the filter are those of types. */
export async function listPolicies(
  db: Executor,
  filter: ListFilter,
  limit: number,
): Promise<readonly StoredPolicy[]> {
  const rows = await db.orm
    .select()
    .from(table)
    .where(and(...listConditions({ id: table.id, name: table.type }, filter)))
    .orderBy(asc(table.id))
    .limit(limit)
  return rows.map((row) => ({ ...row, extra: row.extra as Extra }))
}

export async function insertPolicy(db: Executor, policy: StoredPolicy): Promise<void> {
  await db.orm.insert(table).values(policy)
}

export async function replacePolicy(db: Executor, { id, ...fields }: StoredPolicy): Promise<void> {
  await db.orm.update(table).set(fields).where(eq(table.id, id))
}

/** False when there was no such policy. */
export async function deletePolicy(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm.delete(table).where(eq(table.id, id))
  return result.affectedRows === 1
}
