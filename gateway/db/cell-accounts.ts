import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { shutOutKeys } from './bus-keys.ts'
import { cellAccounts } from './schema/cells.ts'

/** A cell's account on the bus, as it is kept. */
export interface CellAccountRecord {
  readonly cellId: CellId
  readonly publicKey: string
  readonly serviceActivation: string
  readonly feedActivation: string
  readonly sealedSeed: string
  /** Null while what it signed counts. */
  readonly revokedAt: Date | null
}

/** Of every cell that ever was, the oldest first. */
export async function listCellAccounts(db: Executor): Promise<readonly CellAccountRecord[]> {
  const rows = await db.orm
    .select()
    .from(cellAccounts)
    .orderBy(asc(cellAccounts.createdAt), asc(cellAccounts.publicKey))
  return rows.map(recordOf)
}

/** The same, each with the public nkeys of those of its users that were shut out. */
export async function listKeptAccounts(
  db: Executor,
): Promise<readonly (CellAccountRecord & { readonly shutOut: readonly string[] })[]> {
  const accounts = await listCellAccounts(db)
  const keys = await shutOutKeys(db)
  return accounts.map((each) => ({ ...each, shutOut: keys.get(each.cellId) ?? [] }))
}

/** The one that is good; undefined for a cell that has none. */
export async function findCellAccount(
  db: Executor,
  cellId: CellId,
): Promise<CellAccountRecord | undefined> {
  const [row] = await db.orm
    .select()
    .from(cellAccounts)
    .where(and(eq(cellAccounts.cellId, cellId), isNull(cellAccounts.revokedAt)))
    .limit(1)
  return row === undefined ? undefined : recordOf(row)
}

/** The one with this public nkey; undefined where there is none, or none that is good any more. */
export async function findAccountByKey(
  db: Executor,
  publicKey: string,
): Promise<CellAccountRecord | undefined> {
  const [row] = await db.orm
    .select()
    .from(cellAccounts)
    .where(and(eq(cellAccounts.publicKey, publicKey), isNull(cellAccounts.revokedAt)))
    .limit(1)
  return row === undefined ? undefined : recordOf(row)
}

/** Of which cell this public nkey was the account, before it was revoked; undefined where it never was one's. */
export async function findRevokedCell(
  db: Executor,
  publicKey: string,
): Promise<CellId | undefined> {
  const [row] = await db.orm
    .select({ cellId: cellAccounts.cellId })
    .from(cellAccounts)
    .where(and(eq(cellAccounts.publicKey, publicKey), isNotNull(cellAccounts.revokedAt)))
    .limit(1)
  return row?.cellId as CellId | undefined
}

/** Repeating it is harmless. */
export async function insertCellAccount(
  db: Executor,
  account: Omit<CellAccountRecord, 'revokedAt'>,
): Promise<void> {
  await db.orm
    .insert(cellAccounts)
    .values({ ...account, createdAt: sql`now(3)` })
    .onDuplicateKeyUpdate({ set: { publicKey: sql`${cellAccounts.publicKey}` } })
}

/** Afterwards no account of the cell is valid; reconcilers push that to the bus. */
export async function revokeCellAccounts(tx: Tx, cellId: CellId): Promise<void> {
  await tx.orm
    .update(cellAccounts)
    .set({ revokedAt: sql`now(3)` })
    .where(and(eq(cellAccounts.cellId, cellId), isNull(cellAccounts.revokedAt)))
}

function recordOf(row: typeof cellAccounts.$inferSelect): CellAccountRecord {
  const { createdAt: _, cellId, ...rest } = row
  return { ...rest, cellId: cellId as CellId }
}
