import { and, asc, count, eq, inArray, isNull, lt, ne, not, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import type { CellId, SagaId, VolumeId } from '#common/ids.ts'
import type { Volume, VolumeStatus } from '../app/volumes/volume.ts'
import { volumes, volumeTransfers } from './schema/volumes.ts'
import { StaleRevision } from './stale-revision.ts'
import { addVolumeDeletedEvent, addVolumeEvent, addWrittenVolumeEvent } from './volume-events.ts'

type Row = typeof volumes.$inferSelect

const now = sql`now(3)`
const LONG_AGO = new Date(0)

export type NewVolume = Pick<
  Volume,
  | 'id'
  | 'projectId'
  | 'userId'
  | 'name'
  | 'description'
  | 'metadata'
  | 'typeId'
  | 'specs'
  | 'zone'
  | 'sizeGb'
  | 'status'
  | 'isBootable'
  | 'encryption'
  | 'isMultiattach'
  | 'source'
  | 'imageMetadata'
  | 'cellId'
  | 'fault'
  | 'sagaId'
>

/** Adds a volume in its first attempt. */
export async function insertVolume(tx: Tx, volume: NewVolume): Promise<void> {
  await tx.orm.insert(volumes).values({
    ...volume,
    chargedGb: volume.sizeGb,
    attempt: 1,
    triedCells: [],
    createdAt: now,
    changedAt: now,
  })
  await addWrittenVolumeEvent(tx, volume.id)
}

const BY_ID = tableLookup(volumes, 'id')

/** The volume, of any project; undefined when there is none. */
export async function findVolume(db: Executor, id: string): Promise<Volume | undefined> {
  const row = await BY_ID.one(db, id)
  return row && fromRow(row)
}

/** The volume, locked until the transaction ends. */
export async function lockVolume(tx: Tx, id: string): Promise<Volume | undefined> {
  const [row] = await tx.orm.select().from(volumes).where(eq(volumes.id, id)).for('update')
  return row && fromRow(row)
}

/** What its user may change. */
export type VolumeEdit = Partial<
  Pick<Volume, 'name' | 'description' | 'metadata' | 'imageMetadata' | 'isBootable'>
>

/** Afterwards the volume has these values. Throws `StaleRevision` when it has changed since it was read. */
export async function editVolume(
  db: Executor,
  { id, revision }: Pick<Volume, 'id' | 'revision'>,
  edit: VolumeEdit,
): Promise<void> {
  const [result] = await db.orm
    .update(volumes)
    .set({ ...edit, revision: revision + 1, updatedAt: now })
    .where(and(eq(volumes.id, id), eq(volumes.revision, revision)))
  if (result.affectedRows === 0) throw new StaleRevision(`Volume ${id}`)
}

/** Afterwards a volume that the transaction has locked belongs to the project, and is free; what was read of it before is stale. */
export async function giveVolume(
  tx: Tx,
  { id, revision }: Pick<Volume, 'id' | 'revision'>,
  owner: Pick<Volume, 'projectId' | 'userId'>,
): Promise<void> {
  const given = { ...owner, status: 'available', revision: revision + 1, updatedAt: now }
  await tx.orm.update(volumes).set(given).where(eq(volumes.id, id))
  await addWrittenVolumeEvent(tx, id)
}

/** The part of a volume that a saga, or its cell, changes. */
export type VolumeChange = Partial<
  Pick<
    Volume,
    | 'zone'
    | 'sizeGb'
    | 'chargedGb'
    | 'status'
    | 'typeId'
    | 'nextTypeId'
    | 'specs'
    | 'isMultiattach'
    | 'encryption'
    | 'isReadOnly'
    | 'isBootable'
    | 'imageMetadata'
    | 'nextImageMetadata'
    | 'isDeleting'
    | 'cellId'
    | 'attempt'
    | 'lastAttempt'
    | 'triedCells'
    | 'cellVersion'
    | 'storeId'
    | 'storeName'
    | 'fault'
    | 'sagaId'
  >
>

/** Writes a volume that the transaction has locked. `isIntent`: somebody wants it changed, so reconcilers wait again. */
export async function writeLockedVolume(
  tx: Tx,
  id: VolumeId,
  { triedCells, ...change }: VolumeChange,
  { isIntent }: { readonly isIntent: boolean },
): Promise<void> {
  await addVolumeEvent(tx, id, change)
  await tx.orm
    .update(volumes)
    .set({
      ...change,
      ...(triedCells !== undefined && { triedCells: [...triedCells] }),
      updatedAt: now,
      ...(isIntent && { changedAt: now }),
    })
    .where(eq(volumes.id, id))
}

/** Afterwards a volume that the transaction has locked is to be deleted, and a reconciler does that at once: no saga will. */
export async function leaveToDelete(tx: Tx, id: VolumeId): Promise<void> {
  await addVolumeEvent(tx, id, { status: 'deleting' })
  const left = { isDeleting: true, status: 'deleting', updatedAt: now, changedAt: LONG_AGO }
  await tx.orm.update(volumes).set(left).where(eq(volumes.id, id))
}

/** Removes a volume that the transaction has locked, and the offer of it. */
export async function removeVolume(tx: Tx, id: VolumeId): Promise<void> {
  await addVolumeDeletedEvent(tx, id)
  await tx.orm.delete(volumeTransfers).where(eq(volumeTransfers.volumeId, id))
  await tx.orm.delete(volumes).where(eq(volumes.id, id))
}

/** The volumes that a cell has, or is to have, in order of id, after one. */
export async function volumesInCell(
  db: Executor,
  cellId: CellId,
  after: string,
  max: number,
): Promise<readonly Volume[]> {
  const rows = await db.orm
    .select()
    .from(volumes)
    .where(and(eq(volumes.cellId, cellId), sql`${volumes.id} > ${after}`))
    .orderBy(volumes.id)
    .limit(max)
  return rows.map(fromRow)
}

/** The volumes of a lost cell that are not shown as lost yet, or are to be deleted; not those that are moving to another cell. */
export async function volumesLeftIn(
  db: Executor,
  cellId: CellId,
  max: number,
): Promise<readonly VolumeId[]> {
  const isMoving = sql`(${volumes.status} = 'maintenance' and ${volumes.sagaId} is not null)`
  const isLeft = or(eq(volumes.isDeleting, true), and(ne(volumes.status, 'error'), not(isMoving)))
  const rows = await db.orm
    .select({ id: volumes.id })
    .from(volumes)
    .where(and(eq(volumes.cellId, cellId), isLeft))
    .limit(max)
  return rows.map(({ id }) => id as VolumeId)
}

/** How many volumes are in the cell or may be. */
export async function countVolumesIn(db: Executor, cellId: CellId): Promise<number> {
  const [row] = await db.orm
    .select({ volumes: count() })
    .from(volumes)
    .where(eq(volumes.cellId, cellId))
  return row?.volumes ?? 0
}

/** Volumes that are being deleted, and that no saga has been working on for so long, the longest first; not in these cells. */
export async function unownedVolumeDeletes(
  db: Executor,
  except: readonly CellId[],
  olderThanMs: number,
  max: number,
): Promise<readonly VolumeId[]> {
  const idle = lt(volumes.changedAt, sql`now(3) - interval ${olderThanMs * 1_000} microsecond`)
  const elsewhere: SQL | undefined =
    except.length === 0
      ? undefined
      : sql`(${volumes.cellId} is null or ${volumes.cellId} not in ${[...except]})`
  const rows = await db.orm
    .select({ id: volumes.id })
    .from(volumes)
    .where(and(eq(volumes.isDeleting, true), isNull(volumes.sagaId), idle, elsewhere))
    .orderBy(asc(volumes.changedAt))
    .limit(max)
  return rows.map(({ id }) => id as VolumeId)
}

function fromRow(row: Row): Volume {
  const { changedAt: _, ...rest } = row
  return {
    ...rest,
    id: row.id as VolumeId,
    status: row.status as VolumeStatus,
    cellId: row.cellId as CellId | null,
    triedCells: row.triedCells as readonly CellId[],
    sagaId: row.sagaId as SagaId | null,
  }
}

/** These volumes, in order of id, locked until the transaction ends. */
export async function lockVolumes(tx: Tx, ids: readonly string[]): Promise<readonly Volume[]> {
  if (ids.length === 0) return []
  const rows = await tx.orm
    .select()
    .from(volumes)
    .where(inArray(volumes.id, [...ids]))
    .orderBy(volumes.id)
    .for('update')
  return rows.map(fromRow)
}
