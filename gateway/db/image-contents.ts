import { and, asc, eq, inArray, lte, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { imageContents } from './schema/image.ts'

/** Counts one image more for this content and holds the content's row until the transaction ends. */
export async function countContent(tx: Tx, sha256: string): Promise<void> {
  await tx.orm
    .insert(imageContents)
    .values({ sha256, imageCount: 1 })
    .onDuplicateKeyUpdate({ set: { imageCount: sql`${imageContents.imageCount} + 1` } })
}

const DISCOUNT = statement(
  builder
    .update(imageContents)
    .set({ imageCount: sql`${imageContents.imageCount} - 1` })
    .where(eq(imageContents.sha256, sql.placeholder('sha256'))),
)

/** Counts one image less. At none the content waits for collection. */
export function discountContent(tx: Tx, sha256: string): void {
  tx.queue(DISCOUNT, { sha256 })
}

/** True, and the row is gone at commit, when no image has the content. The row is held until then. */
export async function dropUnusedContent(tx: Tx, sha256: string): Promise<boolean> {
  const [result] = await tx.orm
    .delete(imageContents)
    .where(and(eq(imageContents.sha256, sha256), lte(imageContents.imageCount, 0)))
  return result.affectedRows === 1
}

/** Contents that no image has, at most `max`. */
export async function unusedContents(db: Executor, max: number): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ sha256: imageContents.sha256 })
    .from(imageContents)
    .where(lte(imageContents.imageCount, 0))
    .orderBy(asc(imageContents.imageCount))
    .limit(max)
  return rows.map((row) => row.sha256)
}

/** The contents among these that some row refers to. */
export async function knownContents(
  db: Executor,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set()
  const rows = await db.orm
    .select({ sha256: imageContents.sha256 })
    .from(imageContents)
    .where(inArray(imageContents.sha256, [...digests]))
  return new Set(rows.map((row) => row.sha256))
}
