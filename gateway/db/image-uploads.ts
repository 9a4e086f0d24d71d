import { and, eq, lt, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { ImageContent } from './image.ts'
import { images } from './schema/image.ts'

export interface Upload {
  readonly imageId: string
  readonly uploadId: string
}

/** Makes a queued image, or one whose upload died, `saving` for this upload; false when it is neither. */
export async function beginUpload(
  db: Executor,
  upload: Upload,
  now: Date,
  expiresAt: Date,
): Promise<boolean> {
  const isDead = and(eq(images.status, 'saving'), lt(images.uploadExpiresAt, now))
  const [result] = await db.orm
    .update(images)
    .set({
      status: 'saving',
      uploadId: upload.uploadId,
      uploadExpiresAt: expiresAt,
      updatedAt: now,
      revision: sql`${images.revision} + 1`,
    })
    .where(and(eq(images.id, upload.imageId), or(eq(images.status, 'queued'), isDead)))
  return result.affectedRows === 1
}

/** Keeps the upload alive until `expiresAt`; false when the image is no longer this upload's. */
export async function renewUpload(db: Executor, upload: Upload, expiresAt: Date): Promise<boolean> {
  const [result] = await db.orm
    .update(images)
    .set({ uploadExpiresAt: expiresAt })
    .where(isOf(upload))
  return result.affectedRows === 1
}

/** Makes the image active with this content; false when it is no longer this upload's. */
export async function finishUpload(
  tx: Tx,
  upload: Upload,
  content: ImageContent,
  now: Date,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(images)
    .set({
      ...content,
      status: 'active',
      uploadId: null,
      uploadExpiresAt: null,
      updatedAt: now,
      revision: sql`${images.revision} + 1`,
    })
    .where(isOf(upload))
  return result.affectedRows === 1
}

/** Returns the image to `queued`, if it is still this upload's. */
export async function abandonUpload(db: Executor, upload: Upload, now: Date): Promise<void> {
  await db.orm.update(images).set(queuedAgain(now)).where(isOf(upload))
}

/** Returns every image whose upload died to `queued`; the answer is how many. */
export async function abandonDeadUploads(db: Executor, now: Date): Promise<number> {
  const [result] = await db.orm
    .update(images)
    .set(queuedAgain(now))
    .where(and(eq(images.status, 'saving'), lt(images.uploadExpiresAt, now)))
  return result.affectedRows
}

function queuedAgain(now: Date) {
  const revision = sql`${images.revision} + 1`
  return { status: 'queued', uploadId: null, uploadExpiresAt: null, updatedAt: now, revision }
}

function isOf(upload: Upload) {
  return and(
    eq(images.id, upload.imageId),
    eq(images.status, 'saving'),
    eq(images.uploadId, upload.uploadId),
  )
}
