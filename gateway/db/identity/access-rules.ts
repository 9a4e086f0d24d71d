import { and, asc, eq, gt, inArray } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { AccessRule } from '../../app/identity/access-rule.ts'
import { accessRules as table } from '../schema/identity.ts'

const COLUMNS = {
  id: table.id,
  service: table.service,
  method: table.method,
  path: table.path,
}

export interface RuleFilter {
  readonly ids?: readonly string[]
  readonly marker?: string | undefined
}

/** The user's rules that fit, in the order of their ids. */
export async function listAccessRules(
  db: Executor,
  userId: string,
  { ids, marker }: RuleFilter,
  limit: number,
): Promise<readonly AccessRule[]> {
  if (ids?.length === 0) return []
  return db.orm
    .select(COLUMNS)
    .from(table)
    .where(
      and(
        eq(table.userId, userId),
        ids === undefined ? undefined : inArray(table.id, [...ids]),
        marker === undefined ? undefined : gt(table.id, marker),
      ),
    )
    .orderBy(asc(table.id))
    .limit(limit)
}

/** Afterwards the user has a rule of this content; gives its id, which is an older one's where there was one. */
export async function ensureAccessRule(tx: Tx, userId: string, rule: AccessRule): Promise<string> {
  await tx.orm
    .insert(table)
    .ignore()
    .values({ ...rule, userId })
  const [row] = await tx.orm
    .select({ id: table.id })
    .from(table)
    .where(
      and(
        eq(table.userId, userId),
        eq(table.service, rule.service),
        eq(table.method, rule.method),
        eq(table.path, rule.path),
      ),
    )
  if (row === undefined) throw new Error('the access rule was just made')
  return row.id
}

/** Afterwards there is no such rule; false when there was none. */
export async function deleteAccessRule(tx: Tx, userId: string, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(table).where(and(eq(table.userId, userId), eq(table.id, id)))
  return result.affectedRows > 0
}
