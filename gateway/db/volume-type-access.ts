import { and, asc, eq } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { volumeTypeAccess } from './schema/block-storage.ts'

/** More projects than this are not listed. */
const LIST_MAX = 10_000

/** The projects that may use a type that is not public. */
export async function listTypeAccess(db: Executor, typeId: string): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ projectId: volumeTypeAccess.projectId })
    .from(volumeTypeAccess)
    .where(eq(volumeTypeAccess.typeId, typeId))
    .orderBy(asc(volumeTypeAccess.projectId))
    .limit(LIST_MAX)
  return rows.map(({ projectId }) => projectId)
}

/** False when the project has access already. */
export async function insertTypeAccess(
  db: Executor,
  typeId: string,
  projectId: string,
): Promise<boolean> {
  try {
    await db.orm.insert(volumeTypeAccess).values({ typeId, projectId })
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** False when the project had no access. */
export async function deleteTypeAccess(
  db: Executor,
  typeId: string,
  projectId: string,
): Promise<boolean> {
  const [result] = await db.orm
    .delete(volumeTypeAccess)
    .where(and(eq(volumeTypeAccess.typeId, typeId), eq(volumeTypeAccess.projectId, projectId)))
  return result.affectedRows === 1
}
