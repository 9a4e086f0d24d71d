import { and, desc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { images } from './schema/image.ts'

/** The purpose of an image of the disk of a server that still runs, and is to change cells. */
export const COPY_OF_MOVE = 'move-copy'

/** For a row of `images`: it is a part of a disk that changes cells, or of a backup, as SQL. */
export const isPartOfMove = sql`(${images.changesOf} is not null or ${images.snapshotFor} <=> ${sql.raw(`'${COPY_OF_MOVE}'`)})`

/** What was saved of the disk of a shelved server, in bytes. */
export interface SavedDisk {
  /** While it ran; null: nothing. */
  readonly copiedBytes: number | null
  /** While it was off. */
  readonly savedBytes: number
}

/** What the newest image that the server is shelved in has; undefined while it is in none. */
export async function savedDiskOf(db: Executor, serverId: string): Promise<SavedDisk | undefined> {
  const copies = alias(images, 'copies')
  const [row] = await db.orm
    .select({ copiedBytes: copies.sizeBytes, savedBytes: images.sizeBytes })
    .from(images)
    .leftJoin(copies, eq(copies.id, images.changesOf))
    .where(
      and(
        eq(images.snapshotOf, serverId),
        eq(images.snapshotFor, 'shelve'),
        eq(images.status, 'active'),
      ),
    )
    .orderBy(desc(images.createdAt))
    .limit(1)
  return row === undefined || row.savedBytes === null
    ? undefined
    : { copiedBytes: row.copiedBytes, savedBytes: row.savedBytes }
}
