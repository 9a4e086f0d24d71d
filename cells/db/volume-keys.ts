import { eq, inArray, or, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { VolumeId } from '#common/ids.ts'
import { volumeKeys } from './schema/volumes.ts'

const p = sql.placeholder

const INSERT = statement(
  builder
    .insert(volumeKeys)
    .values({ volumeId: p('volumeId'), sealed: p('sealed'), createdAt: sql`now(3)` }),
)
const DELETE = statement(builder.delete(volumeKeys).where(eq(volumeKeys.volumeId, p('volumeId'))))

/** The key of an encrypted volume, sealed. */
export interface SealedVolumeKey {
  readonly volumeId: VolumeId
  readonly sealed: string
}

export function queueVolumeKey(tx: Tx, key: SealedVolumeKey): void {
  tx.queue(INSERT, { ...key })
}

/** Afterwards the key of the volume is gone, if it had one, and its content cannot be read any more. */
export function queueVolumeKeyGone(tx: Tx, volumeId: VolumeId): void {
  tx.queue(DELETE, { volumeId })
}

/** The keys of those of these volumes that are encrypted, and of those that the server was last given; `server` null: none. */
export async function findVolumeKeys(
  db: Executor,
  volumes: readonly string[],
  server: string | null,
): Promise<readonly SealedVolumeKey[]> {
  const named = volumes.length === 0 ? undefined : inArray(volumeKeys.volumeId, [...volumes])
  const given = server === null ? undefined : eq(volumeKeys.serverId, server)
  // A condition without parts would be one that every key meets.
  if (named === undefined && given === undefined) return []
  const rows = await db.orm
    .select({ volumeId: volumeKeys.volumeId, sealed: volumeKeys.sealed })
    .from(volumeKeys)
    .where(or(named, given))
  return rows.map((row) => ({ ...row, volumeId: row.volumeId as VolumeId }))
}

/** Afterwards work on the server gets the keys of these volumes. */
export async function giveVolumeKeys(
  db: Executor,
  volumes: readonly string[],
  serverId: string | null,
): Promise<void> {
  await db.orm
    .update(volumeKeys)
    .set({ serverId })
    .where(inArray(volumeKeys.volumeId, [...volumes]))
}
