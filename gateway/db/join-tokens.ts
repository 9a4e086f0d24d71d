import { and, desc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { joinTokens } from './schema/cells.ts'

/** The right of one cell, or of one host, to join. */
export interface JoinTokenRecord {
  readonly id: string
  readonly cellId: CellId
  readonly cellName: string
  /** Null where a cell joins. */
  readonly hostId: HostId | null
  readonly hostName: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly usedAt: Date | null
  readonly usedBy: string | null
}

export type NewJoinToken = Pick<
  JoinTokenRecord,
  'id' | 'cellId' | 'cellName' | 'hostId' | 'hostName'
> & { readonly secretHash: string; readonly lifetimeS: number }

/** More are not shown at once; they live for a week at most. */
const SHOWN_MAX = 1_000
/** How long one that was used, or was not, is still shown. */
const KEPT = sql`interval 7 day`

/** Afterwards the holder of the secret may join, once, within `lifetimeS`. */
export async function insertJoinToken(db: Executor, fresh: NewJoinToken): Promise<void> {
  const { lifetimeS, ...row } = fresh
  await db.orm.insert(joinTokens).values({
    ...row,
    createdAt: sql`now(3)`,
    expiresAt: sql`now(3) + interval ${lifetimeS} second`,
  })
}

/** The newest first. */
export async function listJoinTokens(db: Executor): Promise<readonly JoinTokenRecord[]> {
  const rows = await db.orm
    .select()
    .from(joinTokens)
    .orderBy(desc(joinTokens.createdAt), desc(joinTokens.id))
    .limit(SHOWN_MAX)
  return rows.map(recordOf)
}

export async function findJoinToken(
  db: Executor,
  id: string,
): Promise<JoinTokenRecord | undefined> {
  const [row] = await db.orm.select().from(joinTokens).where(eq(joinTokens.id, id))
  return row === undefined ? undefined : recordOf(row)
}

export async function findJoinTokenBySecret(
  db: Executor,
  secretHash: string,
): Promise<JoinTokenRecord | undefined> {
  const [row] = await db.orm.select().from(joinTokens).where(eq(joinTokens.secretHash, secretHash))
  return row === undefined ? undefined : recordOf(row)
}

/** Afterwards the token has let in this key, and lets in no other. False when it did another, or its time is up. */
export async function useJoinToken(db: Executor, id: string, publicKey: string): Promise<boolean> {
  const isFreeOrMine = or(isNull(joinTokens.usedBy), eq(joinTokens.usedBy, publicKey))
  const [result] = await db.orm
    .update(joinTokens)
    .set({ usedBy: publicKey, usedAt: sql`coalesce(${joinTokens.usedAt}, now(3))` })
    .where(and(eq(joinTokens.id, id), isFreeOrMine, gt(joinTokens.expiresAt, sql`now(3)`)))
  return result.affectedRows === 1
}

/** False when there was none. */
export async function deleteJoinToken(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm.delete(joinTokens).where(eq(joinTokens.id, id))
  return result.affectedRows === 1
}

/** Removes up to `rows` tokens that are past their retention; returns how many. */
export async function purgeJoinTokens(db: Executor, rows: number): Promise<number> {
  const [result] = await db.orm
    .delete(joinTokens)
    .where(lt(joinTokens.expiresAt, sql`now(3) - ${KEPT}`))
    .limit(rows)
  return result.affectedRows
}

function recordOf(row: typeof joinTokens.$inferSelect): JoinTokenRecord {
  const { secretHash: _, cellId, hostId, ...rest } = row
  return { ...rest, cellId: cellId as CellId, hostId: hostId as HostId | null }
}
