import { and, asc, count, eq, gt } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { credentials as table } from '../schema/identity.ts'

/** A credential as it is kept. */
export type StoredCredential = typeof table.$inferSelect

export interface CredentialFilter {
  readonly userId?: string | undefined
  readonly type?: string | undefined
  readonly marker?: string | undefined
}

export async function findCredential(
  db: Executor,
  id: string,
): Promise<StoredCredential | undefined> {
  const [row] = await db.orm.select().from(table).where(eq(table.id, id))
  return row
}

/** Those that fit every given filter, in the order of their ids. */
export async function listCredentials(
  db: Executor,
  { userId, type, marker }: CredentialFilter,
  limit: number,
): Promise<readonly StoredCredential[]> {
  return db.orm
    .select()
    .from(table)
    .where(
      and(
        userId === undefined ? undefined : eq(table.userId, userId),
        type === undefined ? undefined : eq(table.type, type),
        marker === undefined ? undefined : gt(table.id, marker),
      ),
    )
    .orderBy(asc(table.id))
    .limit(limit)
}

export async function countCredentials(tx: Tx, userId: string): Promise<number> {
  const [row] = await tx.orm.select({ n: count() }).from(table).where(eq(table.userId, userId))
  return row?.n ?? 0
}

/** Throws `conflict` for an id that exists: the id of an EC2 credential is derived from its access key. */
export async function insertCredential(tx: Tx, credential: StoredCredential): Promise<void> {
  try {
    await tx.orm.insert(table).values(credential)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const message = 'There is already a credential with this access key.'
    throw new Failure('conflict', message, { cause: error })
  }
}

/** False when there is no such credential. */
export async function replaceBlob(db: Executor, id: string, sealedBlob: string): Promise<boolean> {
  const [result] = await db.orm.update(table).set({ sealedBlob }).where(eq(table.id, id))
  return result.affectedRows === 1
}

/** False when there was no such credential. */
export async function deleteCredential(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm.delete(table).where(eq(table.id, id))
  return result.affectedRows === 1
}
