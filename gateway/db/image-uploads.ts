import { and, eq, isNull, lt, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { ImageContent } from './image.ts'
import { images } from './schema/image.ts'

export interface Upload {
  readonly imageId: string
  /** The holder of the lease alone may fill the image: an upload, or the task of an import. */
  readonly uploadId: string
}

/** Where content goes: straight into the image, or where an import takes it from. */
export type UploadStatus = 'saving' | 'uploading'

/**
 * Makes a queued image, or one whose upload died, this upload's; one that `takesOver` gets it from another upload, too. False when
 * it is none of these.
 */
export async function beginUpload(
  db: Executor,
  upload: Upload & { readonly status: UploadStatus; readonly takesOver?: boolean },
  now: Date,
  expiresAt: Date,
): Promise<boolean> {
  const isDead = lt(images.uploadExpiresAt, now)
  const isTaken = upload.takesOver === true ? eq(images.status, upload.status) : undefined
  const [result] = await db.orm
    .update(images)
    .set({
      status: upload.status,
      uploadId: upload.uploadId,
      uploadExpiresAt: expiresAt,
      updatedAt: now,
      revision: sql`${images.revision} + 1`,
    })
    .where(and(eq(images.id, upload.imageId), or(eq(images.status, 'queued'), isDead, isTaken)))
  return result.affectedRows === 1
}

/** Keeps the upload alive until `expiresAt`; false when the image no longer belongs to this upload. */
export async function renewUpload(db: Executor, upload: Upload, expiresAt: Date): Promise<boolean> {
  const [result] = await db.orm
    .update(images)
    .set({ uploadExpiresAt: expiresAt })
    .where(isOf(upload))
  return result.affectedRows === 1
}

/** Gives the image the content, or the staged content; false when the image no longer belongs to this upload. */
export async function finishUpload(
  tx: Tx,
  upload: Upload & { readonly to: 'active' | 'uploading' },
  content: ImageContent,
  now: Date,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(images)
    .set({
      ...content,
      hostId: content.hostId ?? null,
      status: upload.to,
      uploadId: null,
      uploadExpiresAt: null,
      updatedAt: now,
      revision: sql`${images.revision} + 1`,
    })
    .where(isOf(upload))
  return result.affectedRows === 1
}

/**
 * Makes an image `importing` for a task, from staged content or from a URL; false when it is in neither state. The
 * image has no expiry of its own: the task has.
 */
export async function beginImport(
  tx: Tx,
  upload: Upload & { readonly from: 'queued' | 'uploading' },
  now: Date,
): Promise<boolean> {
  const isIdle = and(eq(images.status, upload.from), isNull(images.uploadId))
  const [result] = await tx.orm
    .update(images)
    .set({
      status: 'importing',
      uploadId: upload.uploadId,
      updatedAt: now,
      revision: sql`${images.revision} + 1`,
    })
    .where(and(eq(images.id, upload.imageId), isIdle))
  return result.affectedRows === 1
}

/** Returns the image to `queued` without content; false when it no longer belongs to this upload. */
export async function abandonUpload(db: Executor, upload: Upload, now: Date): Promise<boolean> {
  const [result] = await db.orm.update(images).set(queuedAgain(now)).where(isOf(upload))
  return result.affectedRows === 1
}

/** Returns every image whose upload died to `queued`; the answer is how many. */
export async function abandonDeadUploads(db: Executor, now: Date): Promise<number> {
  const [result] = await db.orm
    .update(images)
    .set(queuedAgain(now))
    .where(lt(images.uploadExpiresAt, now))
  return result.affectedRows
}

function queuedAgain(now: Date) {
  const revision = sql`${images.revision} + 1`
  return {
    status: 'queued',
    uploadId: null,
    uploadExpiresAt: null,
    sizeBytes: null,
    virtualSizeBytes: null,
    md5: null,
    sha256: null,
    sha512: null,
    hostId: null,
    updatedAt: now,
    revision,
  }
}

function isOf(upload: Upload) {
  return and(eq(images.id, upload.imageId), eq(images.uploadId, upload.uploadId))
}
