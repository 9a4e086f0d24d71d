import { eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import type { VolumeId } from '#common/ids.ts'
import { volumeKeys } from './schema/volumes.ts'

const p = sql.placeholder

const INSERT = statement(
  builder
    .insert(volumeKeys)
    .values({ volumeId: p('volumeId'), sealed: p('sealed'), createdAt: sql`now(3)` }),
)
const DELETE = statement(builder.delete(volumeKeys).where(eq(volumeKeys.volumeId, p('volumeId'))))

const BY_VOLUME = tableLookup(volumeKeys, 'volumeId')
const BY_SERVER = tableLookup(volumeKeys, 'serverId')

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
  const found = await Promise.all([
    ...volumes.map((id) => BY_VOLUME.all(db, id)),
    ...(server === null ? [] : [BY_SERVER.all(db, server)]),
  ])
  const keys = new Map(found.flat().map(({ volumeId, sealed }) => [volumeId, sealed]))
  return [...keys].map(([volumeId, sealed]) => ({ volumeId: volumeId as VolumeId, sealed }))
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
