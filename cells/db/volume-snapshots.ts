import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId, SagaId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeSnapshotState } from '#openapi/wire/cell-volume-snapshot.ts'
import type { VolumeSnapshot } from '../volumes/volume-snapshot.ts'
import { feedState } from './schema/feed.ts'
import { stores, volumeSnapshotAnswers, volumeSnapshots } from './schema/volumes.ts'
import type { VolumeAttempt, VolumeOutcome } from './volumes.ts'

const p = sql.placeholder
const now = sql`now(3)`

const INSERT = statement(
  builder.insert(volumeSnapshots).values({
    snapshotId: p('id'),
    volumeId: p('volumeId'),
    version: p('version'),
    state: p('state'),
    sizeGb: p('sizeGb'),
    storeId: p('storeId'),
    hostId: p('hostId'),
    fault: null,
    sagaId: p('sagaId'),
    createdAt: now,
    updatedAt: now,
  }),
)
const UPDATE_SEEN = statement(
  builder
    .update(volumeSnapshots)
    .set({
      version: sql`${p('version')}`,
      state: sql`${p('state')}`,
      fault: sql`${p('fault')}`,
      sagaId: sql`${p('sagaId')}`,
      updatedAt: now,
    })
    .where(
      and(eq(volumeSnapshots.snapshotId, p('id')), eq(volumeSnapshots.version, p('seenVersion'))),
    ),
)
const REMOVE_OWN = statement(
  builder
    .delete(volumeSnapshots)
    .where(and(eq(volumeSnapshots.snapshotId, p('id')), eq(volumeSnapshots.sagaId, p('owner')))),
)
const INSERT_ANSWER = statement(
  builder.insert(volumeSnapshotAnswers).values({
    snapshotId: p('id'),
    outcome: p('outcome'),
    reason: p('reason'),
    createdAt: now,
  }),
)
const END_ANSWER = statement(
  builder
    .update(volumeSnapshotAnswers)
    .set({ outcome: 'deleted' })
    .where(eq(volumeSnapshotAnswers.snapshotId, p('id'))),
)
/** Answers for snapshots that the cell still has stay, however old. */
const PURGE_ANSWERS = statement(
  builder
    .delete(volumeSnapshotAnswers)
    .where(
      and(
        lt(volumeSnapshotAnswers.createdAt, p('before')),
        sql`not exists (select 1 from ${volumeSnapshots} where ${volumeSnapshots.snapshotId} = ${volumeSnapshotAnswers.snapshotId})`,
      ),
    )
    .limit(p('max')),
)

/** Adds a snapshot that a saga begins to make; throws a duplicate-key error when the cell has it. */
export function queueVolumeSnapshot(tx: Tx, snapshot: VolumeSnapshot): void {
  tx.queue(INSERT, { ...snapshot })
}

/** The snapshot; undefined when the cell has none of this id. */
export async function findVolumeSnapshot(
  db: Executor,
  id: string,
): Promise<VolumeSnapshot | undefined> {
  const [row] = await snapshotRows(db).where(eq(volumeSnapshots.snapshotId, id))
  return row && fromRow(row)
}

/** True while the cell has a snapshot of the volume, in any state. */
export async function hasSnapshots(db: Executor, volumeId: VolumeId): Promise<boolean> {
  return (await db.orm.$count(volumeSnapshots, eq(volumeSnapshots.volumeId, volumeId))) > 0
}

/** At most `max` snapshots in order of id, after one. */
export async function volumeSnapshotPage(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly VolumeSnapshot[]> {
  const rows = await snapshotRows(db)
    .where(gt(volumeSnapshots.snapshotId, after))
    .orderBy(asc(volumeSnapshots.snapshotId))
    .limit(max)
  return rows.map(fromRow)
}

/** The snapshots that the cell has in a store. */
export async function snapshotsInStore(
  db: Executor,
  storeId: string,
): Promise<readonly VolumeSnapshot[]> {
  return (await snapshotRows(db).where(eq(volumeSnapshots.storeId, storeId))).map(fromRow)
}

/** Writes the snapshot, unless it has changed since it was seen; false when it has. */
export async function updateSeenSnapshot(
  tx: Tx,
  seen: VolumeSnapshot,
  to: VolumeSnapshot,
): Promise<boolean> {
  const { affectedRows } = await tx.run(UPDATE_SEEN, { ...to, seenVersion: seen.version })
  return affectedRows === 1
}

/** Removes the snapshot if the saga is still changing it; false when another is. */
export async function removeOwnSnapshot(
  tx: Tx,
  owner: SagaId,
  { id }: Pick<VolumeSnapshot, 'id'>,
): Promise<boolean> {
  return (await tx.run(REMOVE_OWN, { id, owner })).affectedRows === 1
}

/** Commits the cell to its answer, in a transaction that fails with a duplicate-key error when there is one already. */
export function queueSnapshotAnswer(tx: Tx, id: string, { outcome, reason }: VolumeAttempt): void {
  tx.queue(INSERT_ANSWER, { id, outcome, reason })
}

/** The cell's answer to the request for a snapshot; undefined if it has given none. */
export async function findSnapshotAnswer(
  db: Executor,
  id: string,
): Promise<VolumeAttempt | undefined> {
  const [row] = await db.orm
    .select({ outcome: volumeSnapshotAnswers.outcome, reason: volumeSnapshotAnswers.reason })
    .from(volumeSnapshotAnswers)
    .where(eq(volumeSnapshotAnswers.snapshotId, id))
  return row && { outcome: row.outcome as VolumeOutcome, reason: row.reason }
}

/** True if the snapshot was asked for after the database was last restored, and is over. */
export async function isSnapshotEnded(db: Executor, id: string): Promise<boolean> {
  const { snapshotId, outcome, createdAt } = volumeSnapshotAnswers
  const [row] = await db.orm
    .select({ outcome, isComplete: sql<number>`${createdAt} > ${feedState.beganAt}` })
    .from(volumeSnapshotAnswers)
    .innerJoin(feedState, sql`true`)
    .where(eq(snapshotId, id))
  return row?.outcome === 'deleted' && row.isComplete === 1
}

/** Afterwards the snapshot is known to be over here. */
export function queueSnapshotEnd(tx: Tx, { id }: Pick<VolumeSnapshot, 'id'>): void {
  tx.queue(END_ANSWER, { id })
}

/** Forgets at most `max` answers given before a time. Returns how many. */
export async function purgeSnapshotAnswers(
  db: Executor,
  before: Date,
  max: number,
): Promise<number> {
  return (await db.run(PURGE_ANSWERS, { before, max: String(max) })).affectedRows
}

function snapshotRows(db: Executor) {
  return db.orm
    .select({ snapshot: volumeSnapshots, storeName: stores.name })
    .from(volumeSnapshots)
    .innerJoin(stores, eq(stores.id, volumeSnapshots.storeId))
    .$dynamic()
}

function fromRow(joined: {
  readonly snapshot: typeof volumeSnapshots.$inferSelect
  readonly storeName: string
}): VolumeSnapshot {
  const { snapshotId, createdAt: _, updatedAt, ...row } = joined.snapshot
  return {
    ...row,
    id: snapshotId as VolumeSnapshotId,
    volumeId: row.volumeId as VolumeId,
    state: row.state as VolumeSnapshotState,
    storeName: joined.storeName,
    hostId: row.hostId as HostId,
    sagaId: row.sagaId as SagaId | null,
    updatedAt: updatedAt.getTime(),
  }
}
