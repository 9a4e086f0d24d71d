import { and, asc, eq } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { flavorAccess } from './schema/resources.ts'

/** More projects than this are not listed. */
const LIST_MAX = 10_000

/** The projects that may use a flavor that is not public. */
export async function listAccess(db: Executor, flavorId: string): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ projectId: flavorAccess.projectId })
    .from(flavorAccess)
    .where(eq(flavorAccess.flavorId, flavorId))
    .orderBy(asc(flavorAccess.projectId))
    .limit(LIST_MAX)
  return rows.map(({ projectId }) => projectId)
}

/** False when the project has access already. */
export async function insertAccess(
  db: Executor,
  flavorId: string,
  projectId: string,
): Promise<boolean> {
  try {
    await db.orm.insert(flavorAccess).values({ flavorId, projectId })
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** False when the project had no access. */
export async function deleteAccess(
  db: Executor,
  flavorId: string,
  projectId: string,
): Promise<boolean> {
  const [result] = await db.orm
    .delete(flavorAccess)
    .where(and(eq(flavorAccess.flavorId, flavorId), eq(flavorAccess.projectId, projectId)))
  return result.affectedRows === 1
}
