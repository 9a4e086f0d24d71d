import { and, asc, count, eq, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId, SagaId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type {
  VolumeSnapshot,
  VolumeSnapshotStatus,
} from '../app/volume-snapshots/volume-snapshot.ts'
import { type Collection, matching, type ResourcePage, readPage } from './resource-page.ts'
import { volumeSnapshots, volumes } from './schema/volumes.ts'
import { StaleRevision } from './stale-revision.ts'
import { addNewSnapshotEvent, addSnapshotDeletedEvent, addSnapshotEvent } from './volume-events.ts'
import { hasMetadata } from './volume-metadata.ts'

type Row = typeof volumeSnapshots.$inferSelect

const now = sql`now(3)`

const COLLECTION: Collection = {
  table: volumeSnapshots,
  id: volumeSnapshots.id,
  attributes: {
    id: volumeSnapshots.id,
    name: volumeSnapshots.name,
    status: volumeSnapshots.status,
    volume_id: volumeSnapshots.volumeId,
    volume_size: volumeSnapshots.sizeGb,
    user_id: volumeSnapshots.userId,
    project_id: volumeSnapshots.projectId,
    created_at: volumeSnapshots.createdAt,
    updated_at: volumeSnapshots.updatedAt,
  },
  conditions: { metadata: (pairs) => hasMetadata(volumeSnapshots.metadata, pairs) },
}

export type NewVolumeSnapshot = Pick<
  VolumeSnapshot,
  | 'id'
  | 'projectId'
  | 'userId'
  | 'volumeId'
  | 'name'
  | 'description'
  | 'metadata'
  | 'typeId'
  | 'sizeGb'
  | 'cellId'
  | 'sagaId'
>

/** Adds a snapshot that is being created. Its volume is changed, too: a delete of it on another node of a cluster of databases knows of no other lock. */
export async function insertSnapshot(tx: Tx, snapshot: NewVolumeSnapshot): Promise<void> {
  await tx.orm.update(volumes).set({ changedAt: now }).where(eq(volumes.id, snapshot.volumeId))
  await tx.orm
    .insert(volumeSnapshots)
    .values({ ...snapshot, status: 'creating', createdAt: now, changedAt: now })
  await addNewSnapshotEvent(tx, snapshot.id)
}

/** The snapshot, of any project; undefined when there is none. */
export async function findSnapshot(db: Executor, id: string): Promise<VolumeSnapshot | undefined> {
  const [row] = await db.orm.select().from(volumeSnapshots).where(eq(volumeSnapshots.id, id))
  return row && fromRow(row)
}

/** The snapshot, locked until the transaction ends. */
export async function lockSnapshot(tx: Tx, id: string): Promise<VolumeSnapshot | undefined> {
  const isThis = eq(volumeSnapshots.id, id)
  const [row] = await tx.orm.select().from(volumeSnapshots).where(isThis).for('update')
  return row && fromRow(row)
}

/** The snapshots of a volume, in order of id, locked until the transaction ends. */
export async function lockSnapshotsOf(
  tx: Tx,
  volumeId: VolumeId,
): Promise<readonly VolumeSnapshot[]> {
  const rows = await tx.orm
    .select()
    .from(volumeSnapshots)
    .where(eq(volumeSnapshots.volumeId, volumeId))
    .orderBy(volumeSnapshots.id)
    .for('update')
  return rows.map(fromRow)
}

/** Afterwards a snapshot that the transaction has locked belongs to the project; what was read of it before is stale. */
export async function giveSnapshot(
  tx: Tx,
  { id, revision }: Pick<VolumeSnapshot, 'id' | 'revision'>,
  owner: Pick<VolumeSnapshot, 'projectId' | 'userId'>,
): Promise<void> {
  const given = { ...owner, revision: revision + 1, updatedAt: now }
  await tx.orm.update(volumeSnapshots).set(given).where(eq(volumeSnapshots.id, id))
}

/** The snapshots of a volume, in order of id. */
export async function snapshotsOfVolume(
  db: Executor,
  volumeId: VolumeId,
): Promise<readonly VolumeSnapshot[]> {
  const rows = await db.orm
    .select()
    .from(volumeSnapshots)
    .where(eq(volumeSnapshots.volumeId, volumeId))
    .orderBy(volumeSnapshots.id)
  return rows.map(fromRow)
}

/** A page of the snapshots of a project; of all projects where that is null. Throws `invalid` for what cannot be sorted by. */
export function listSnapshotRows(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly VolumeSnapshot[]> {
  return readPage(db, COLLECTION, ownedBy(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(volumeSnapshots)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(fromRow)
  })
}

/** How many snapshots of a project, or of all, the filters leave. */
export async function countSnapshotRows(
  db: Executor,
  projectId: string | null,
  filters: ResourcePage['filters'],
): Promise<number> {
  const [row] = await db.orm
    .select({ snapshots: count() })
    .from(volumeSnapshots)
    .where(matching(COLLECTION, ownedBy(projectId), filters))
  return row?.snapshots ?? 0
}

function ownedBy(projectId: string | null): SQL | undefined {
  return projectId === null ? undefined : eq(volumeSnapshots.projectId, projectId)
}

/** What its user may change. */
export type SnapshotEdit = Partial<Pick<VolumeSnapshot, 'name' | 'description' | 'metadata'>>

/** Afterwards the snapshot has these values. Throws `StaleRevision` when it has changed since it was read. */
export async function editSnapshot(
  db: Executor,
  { id, revision }: Pick<VolumeSnapshot, 'id' | 'revision'>,
  edit: SnapshotEdit,
): Promise<void> {
  const [result] = await db.orm
    .update(volumeSnapshots)
    .set({ ...edit, revision: revision + 1, updatedAt: now })
    .where(and(eq(volumeSnapshots.id, id), eq(volumeSnapshots.revision, revision)))
  if (result.affectedRows === 0) throw new StaleRevision(`Snapshot ${id}`)
}

/** The part of a snapshot that a saga, or its cell, changes. */
export type SnapshotChange = Partial<
  Pick<VolumeSnapshot, 'status' | 'isDeleting' | 'cellId' | 'cellVersion' | 'fault' | 'sagaId'>
>

/** Writes a snapshot that the transaction has locked. `isIntent`: somebody wants it changed, so reconcilers wait again. */
export async function writeLockedSnapshot(
  tx: Tx,
  id: VolumeSnapshotId,
  change: SnapshotChange,
  { isIntent }: { readonly isIntent: boolean },
): Promise<void> {
  await addSnapshotEvent(tx, id, change)
  await tx.orm
    .update(volumeSnapshots)
    .set({ ...change, updatedAt: now, ...(isIntent && { changedAt: now }) })
    .where(eq(volumeSnapshots.id, id))
}

/** Removes a snapshot that the transaction has locked. */
export async function removeSnapshot(tx: Tx, id: VolumeSnapshotId): Promise<void> {
  await addSnapshotDeletedEvent(tx, id)
  await tx.orm.delete(volumeSnapshots).where(eq(volumeSnapshots.id, id))
}

/** The snapshots that a cell has, or is to have, in order of id, after one. */
export async function snapshotsInCell(
  db: Executor,
  cellId: CellId,
  after: string,
  max: number,
): Promise<readonly VolumeSnapshot[]> {
  const rows = await db.orm
    .select()
    .from(volumeSnapshots)
    .where(and(eq(volumeSnapshots.cellId, cellId), sql`${volumeSnapshots.id} > ${after}`))
    .orderBy(volumeSnapshots.id)
    .limit(max)
  return rows.map(fromRow)
}

/** The snapshots of a lost cell that are not shown as lost yet, or are to be deleted. */
export async function snapshotsLeftIn(
  db: Executor,
  cellId: CellId,
  max: number,
): Promise<readonly VolumeSnapshotId[]> {
  const isLeft = or(eq(volumeSnapshots.isDeleting, true), ne(volumeSnapshots.status, 'error'))
  const rows = await db.orm
    .select({ id: volumeSnapshots.id })
    .from(volumeSnapshots)
    .where(and(eq(volumeSnapshots.cellId, cellId), isLeft))
    .limit(max)
  return rows.map(({ id }) => id as VolumeSnapshotId)
}

/** Snapshots that are being deleted, and that no saga has been working on for so long, the longest first; not in these cells. */
export async function unownedSnapshotDeletes(
  db: Executor,
  except: readonly CellId[],
  olderThanMs: number,
  max: number,
): Promise<readonly VolumeSnapshotId[]> {
  const { id, isDeleting, sagaId, cellId, changedAt } = volumeSnapshots
  const idle = lt(changedAt, sql`now(3) - interval ${olderThanMs * 1_000} microsecond`)
  const elsewhere =
    except.length === 0 ? undefined : sql`(${cellId} is null or ${cellId} not in ${[...except]})`
  const rows = await db.orm
    .select({ id })
    .from(volumeSnapshots)
    .where(and(eq(isDeleting, true), isNull(sagaId), idle, elsewhere))
    .orderBy(asc(changedAt))
    .limit(max)
  return rows.map((row) => row.id as VolumeSnapshotId)
}

function fromRow(kept: Row): VolumeSnapshot {
  const { changedAt: _, ...row } = kept
  return {
    ...row,
    id: row.id as VolumeSnapshotId,
    volumeId: row.volumeId as VolumeId,
    status: row.status as VolumeSnapshotStatus,
    cellId: row.cellId as CellId | null,
    sagaId: row.sagaId as SagaId | null,
  }
}
