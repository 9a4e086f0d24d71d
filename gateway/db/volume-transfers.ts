import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { VolumeId } from '#common/ids.ts'
import { type Collection, type ResourcePage, readPage } from './resource-page.ts'
import { volumeTransfers } from './schema/volumes.ts'

/** A volume that its project offers to another one. */
export interface VolumeTransfer {
  readonly id: string
  readonly volumeId: VolumeId
  /** That offers it. */
  readonly projectId: string
  readonly name: string | null
  /** Of the key that accepts it, with the id. */
  readonly keyHash: string
  /** False: the snapshots of the volume stay with the project that offers it. */
  readonly takesSnapshots: boolean
  readonly createdAt: Date
}

const COLLECTION: Collection = {
  table: volumeTransfers,
  id: volumeTransfers.id,
  attributes: {
    id: volumeTransfers.id,
    name: volumeTransfers.name,
    volume_id: volumeTransfers.volumeId,
    created_at: volumeTransfers.createdAt,
  },
}

/** Afterwards the volume, which the transaction has locked, is offered so, and not as it was before. */
export async function insertTransfer(
  tx: Tx,
  transfer: Omit<VolumeTransfer, 'createdAt'>,
): Promise<void> {
  await tx.orm.delete(volumeTransfers).where(eq(volumeTransfers.volumeId, transfer.volumeId))
  await tx.orm.insert(volumeTransfers).values({ ...transfer, createdAt: sql`now(3)` })
}

/** The transfer, of any project; undefined when there is none. */
export async function findTransfer(db: Executor, id: string): Promise<VolumeTransfer | undefined> {
  const [row] = await db.orm.select().from(volumeTransfers).where(eq(volumeTransfers.id, id))
  return row && fromRow(row)
}

/** A page of the transfers of a project; of all projects where that is null. Throws `invalid` for what cannot be sorted by. */
export function listTransferRows(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly VolumeTransfer[]> {
  const visible = projectId === null ? undefined : eq(volumeTransfers.projectId, projectId)
  return readPage(db, COLLECTION, visible, page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(volumeTransfers)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(fromRow)
  })
}

/** False when there was none. */
export async function removeTransfer(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(volumeTransfers).where(eq(volumeTransfers.id, id))
  return result.affectedRows === 1
}

function fromRow(row: typeof volumeTransfers.$inferSelect): VolumeTransfer {
  return { ...row, volumeId: row.volumeId as VolumeId }
}
