import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { busKeys } from './schema/cells.ts'

/** A key that acts on the bus as a cell, or as one of its hosts. */
export interface BusKey {
  /** Public nkey of the user (`U…`). */
  readonly publicKey: string
  readonly cellId: CellId
  /** Null where it acts as the cell itself. */
  readonly hostId: HostId | null
}

/** Afterwards the key is known. One that is known already stays as it is, also when it was shut out. */
export async function recordBusKey(db: Executor, key: BusKey): Promise<void> {
  await db.orm
    .insert(busKeys)
    .values({ ...key, createdAt: sql`now(3)` })
    .onDuplicateKeyUpdate({ set: { publicKey: sql`${busKeys.publicKey}` } })
}

/** True for a key that an operator shut out: its credentials are refused for good. */
export async function isShutOut(db: Executor, publicKey: string): Promise<boolean> {
  const rows = await db.orm
    .select({ publicKey: busKeys.publicKey })
    .from(busKeys)
    .where(and(eq(busKeys.publicKey, publicKey), isNotNull(busKeys.shutOutAt)))
  return rows.length > 0
}

/** Keys that the bus refuses, by the id of their cell. */
export async function shutOutKeys(db: Executor): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.orm
    .select({ cellId: busKeys.cellId, publicKey: busKeys.publicKey })
    .from(busKeys)
    .where(isNotNull(busKeys.shutOutAt))
    .orderBy(busKeys.publicKey)
  const grouped = Map.groupBy(rows, ({ cellId }) => cellId)
  return new Map(
    Array.from(grouped, ([cellId, keys]) => [cellId, keys.map(({ publicKey }) => publicKey)]),
  )
}

/** Afterwards no known key of the host is valid; reconcilers push that to the bus. */
export async function shutOutHostKeys(tx: Tx, hostId: string): Promise<void> {
  await tx.orm
    .update(busKeys)
    .set({ shutOutAt: sql`now(3)` })
    .where(and(eq(busKeys.hostId, hostId), isNull(busKeys.shutOutAt)))
}

/** How many keys of the host are known, good or not. */
export async function countHostKeys(db: Executor, hostId: string): Promise<number> {
  return db.orm.$count(busKeys, eq(busKeys.hostId, hostId))
}
