import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isPartOfMove } from './parts-of-moves.ts'
import { lockProject } from './project-locks.ts'
import { images } from './schema/image.ts'

/** The usage of a project's images. Bytes count once for each image, shared on disk or not. */
export interface ImageUsage {
  readonly images: number
  readonly bytes: number
  /** Staged, and not yet imported. */
  readonly stagedBytes: number
  /** Images that are being filled now. */
  readonly uploading: number
}

/** Holds what decides over the project's images until the transaction ends, so that counting and adding are one. */
export async function holdProject(tx: Tx, projectId: string): Promise<void> {
  await lockProject(tx, projectId, 'images')
}

const isUsable = sql`${images.status} in ('active', 'deactivated')`

/** The images of a project: their number, bytes, bytes not usable yet, and uploads in progress. */
export async function imageUsage(db: Executor, projectId: string): Promise<ImageUsage> {
  const [row] = await db.orm
    .select({
      images: sql<string>`count(*)`,
      bytes: sql<string>`coalesce(sum(if(${isUsable}, ${images.sizeBytes}, 0)), 0)`,
      stagedBytes: sql<string>`coalesce(sum(if(${isUsable}, 0, ${images.sizeBytes})), 0)`,
      uploading: sql<string>`count(if(${images.status} in ('saving', 'uploading', 'importing'), 1, null))`,
    })
    .from(images)
    .where(and(eq(images.owner, projectId), sql`not ${isPartOfMove}`))
  return {
    images: Number(row?.images ?? 0),
    bytes: Number(row?.bytes ?? 0),
    stagedBytes: Number(row?.stagedBytes ?? 0),
    uploading: Number(row?.uploading ?? 0),
  }
}
