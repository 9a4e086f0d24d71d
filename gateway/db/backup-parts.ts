import { and, asc, desc, eq, inArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { images } from './schema/image.ts'

/** True for an image that waits for its content, as a backup of a server. */
export async function isBackup(db: Executor, imageId: string): Promise<boolean> {
  const [row] = await db.orm
    .select({ id: images.id })
    .from(images)
    .where(and(eq(images.id, imageId), eq(images.snapshotFor, 'backup')))
  return row !== undefined
}

/** Images with changes of which a gateway has made, or was to make, the image of a backup; the newest first. */
export async function backupParts(db: Executor, imageId: string): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ id: images.id })
    .from(images)
    .where(isPartOf([imageId]))
    .orderBy(desc(images.createdAt))
  return rows.map(({ id }) => id)
}

interface StoredSize {
  readonly sha256: string
  readonly sizeBytes: number
}

const BEFORE = 'before_sha256'
const BEFORE_BYTES = 'before_bytes'

/** Hidden properties of an image with changes. They name the content to which the changes belong. */
export function propertiesOfPart({ sha256, sizeBytes }: StoredSize): Record<string, string> {
  return { [BEFORE]: sha256, [BEFORE_BYTES]: String(sizeBytes) }
}

/** A backup, and the changes that it was made with. */
export interface BackupPart {
  readonly changes: StoredSize & { readonly id: string }
  /** The content of the backup before, which may be deleted. */
  readonly before: StoredSize
}

/** For each backup's image, the changes from which it was made. A backup that was saved as a whole, or whose changes are deleted, is missing. */
export async function findBackupParts(
  db: Executor,
  imageIds: readonly string[],
): Promise<ReadonlyMap<string, BackupPart>> {
  if (imageIds.length === 0) return new Map()
  const { id, sha256, sizeBytes, properties, snapshotOf } = images
  const rows = await db.orm
    .select({ id, sha256, sizeBytes, properties, backup: snapshotOf })
    .from(images)
    .where(and(isPartOf(imageIds), eq(images.status, 'active')))
    .orderBy(asc(images.createdAt))
  const parts = rows.map((row) => [row.backup!, partOf(row)] as const)
  // Of several of one backup, the newest comes last.
  return new Map(parts.flatMap(([backup, part]) => (part === undefined ? [] : [[backup, part]])))
}

function partOf(
  row: Pick<typeof images.$inferSelect, 'id' | 'sha256' | 'sizeBytes' | 'properties'>,
): BackupPart | undefined {
  if (row.sha256 === null || row.sizeBytes === null) return undefined
  const before = { sha256: row.properties[BEFORE], sizeBytes: Number(row.properties[BEFORE_BYTES]) }
  if (before.sha256 === undefined || !Number.isSafeInteger(before.sizeBytes)) return undefined
  const changes = { id: row.id, sha256: row.sha256, sizeBytes: row.sizeBytes }
  return { changes, before: { ...before, sha256: before.sha256 } }
}

function isPartOf(imageIds: readonly string[]) {
  return and(inArray(images.snapshotOf, [...imageIds]), eq(images.snapshotFor, 'backup-part'))
}
