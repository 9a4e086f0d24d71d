import { asc, eq } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { defaultVolumeTypes } from './schema/block-storage.ts'

/** The type of a project's volumes for which none is named. */
export interface DefaultType {
  readonly projectId: string
  readonly typeId: string
}

/** More projects than this are not listed. */
const LIST_MAX = 10_000

export async function listDefaults(db: Executor): Promise<readonly DefaultType[]> {
  return db.orm
    .select()
    .from(defaultVolumeTypes)
    .orderBy(asc(defaultVolumeTypes.projectId))
    .limit(LIST_MAX)
}

/** Undefined while the default of the cloud holds for the project. */
export async function findDefault(
  db: Executor,
  projectId: string,
): Promise<DefaultType | undefined> {
  const rows = await db.orm
    .select()
    .from(defaultVolumeTypes)
    .where(eq(defaultVolumeTypes.projectId, projectId))
  return rows[0]
}

/** True if the type is the default of some project. */
export async function isProjectDefault(db: Executor, typeId: string): Promise<boolean> {
  return (await db.orm.$count(defaultVolumeTypes, eq(defaultVolumeTypes.typeId, typeId))) > 0
}

export async function putDefault(db: Executor, { projectId, typeId }: DefaultType): Promise<void> {
  await db.orm
    .insert(defaultVolumeTypes)
    .values({ projectId, typeId })
    .onDuplicateKeyUpdate({ set: { typeId } })
}

export async function removeDefault(db: Executor, projectId: string): Promise<void> {
  await db.orm.delete(defaultVolumeTypes).where(eq(defaultVolumeTypes.projectId, projectId))
}
