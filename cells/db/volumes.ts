import { and, asc, desc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import { columnsOf } from '#common/db/table-lookup.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, SagaId, VolumeId } from '#common/ids.ts'
import type { VolumeAttemptRef, VolumeState } from '#openapi/wire/cell-volume.ts'
import type { Volume } from '../volumes/volume.ts'
import { feedState } from './schema/feed.ts'
import { stores, volumeAttempts, volumes } from './schema/volumes.ts'

const p = sql.placeholder
const now = sql`now(3)`

const INSERT = statement(
  builder.insert(volumes).values({
    volumeId: p('id'),
    attempt: p('attempt'),
    version: p('version'),
    projectId: p('projectId'),
    state: p('state'),
    sizeGb: p('sizeGb'),
    storeId: p('storeId'),
    hostId: p('hostId'),
    zone: p('zone'),
    fault: null,
    imageId: null,
    sagaId: p('sagaId'),
    createdAt: now,
    updatedAt: now,
  }),
)
const isThis = and(eq(volumes.volumeId, p('id')), eq(volumes.attempt, p('attempt')))
const UPDATE_SEEN = statement(
  builder
    .update(volumes)
    .set({
      version: sql`${p('version')}`,
      state: sql`${p('state')}`,
      sizeGb: sql`${p('sizeGb')}`,
      fault: sql`${p('fault')}`,
      imageId: sql`${p('imageId')}`,
      sagaId: sql`${p('sagaId')}`,
      updatedAt: now,
    })
    .where(and(isThis, eq(volumes.version, p('seenVersion')))),
)
const MOVE_SEEN = statement(
  builder
    .update(volumes)
    .set({
      version: sql`${p('version')}`,
      state: sql`${p('state')}`,
      storeId: sql`${p('storeId')}`,
      hostId: sql`${p('hostId')}`,
      zone: sql`${p('zone')}`,
      fault: sql`${p('fault')}`,
      sagaId: sql`${p('sagaId')}`,
      updatedAt: now,
    })
    .where(and(isThis, eq(volumes.version, p('seenVersion')))),
)
const REMOVE_OWN = statement(
  builder.delete(volumes).where(and(isThis, eq(volumes.sagaId, p('owner')))),
)
/** Nothing is inserted when a newer attempt is known: the table is read without locks, by primary key. */
const INSERT_ATTEMPT = statement(
  builder.insert(volumeAttempts).select(
    builder
      .select({
        volumeId: sql`${p('volumeId')}`.as('volume_id'),
        attempt: sql`${p('attempt')}`.as('attempt'),
        outcome: sql`${p('outcome')}`.as('outcome'),
        reason: sql`${p('reason')}`.as('reason'),
        createdAt: now.as('created_at'),
      })
      .from(sql`dual`)
      .where(
        sql`not exists (select 1 from ${volumeAttempts} as newer where newer.volume_id = ${p('volumeId')} and newer.attempt > ${p('attempt')})`,
      ),
  ),
)
const END_ATTEMPT = statement(
  builder
    .update(volumeAttempts)
    .set({ outcome: 'deleted' })
    .where(and(eq(volumeAttempts.volumeId, p('id')), eq(volumeAttempts.attempt, p('attempt')))),
)
/** Answers of volumes the cell still has stay, however old. */
const PURGE_ATTEMPTS = statement(
  builder
    .delete(volumeAttempts)
    .where(
      and(
        lt(volumeAttempts.createdAt, p('before')),
        sql`not exists (select 1 from ${volumes} where ${volumes.volumeId} = ${volumeAttempts.volumeId})`,
      ),
    )
    .limit(p('max')),
)

/** Adds a volume that a saga begins to make; throws a duplicate-key error when the cell has it in any attempt. */
export function queueVolume(tx: Tx, volume: Volume): void {
  tx.queue(INSERT, { ...volume })
}

type Row = typeof volumes.$inferSelect

const BY_ID = new Lookup<Row & { readonly storeName: string }>(
  (ids) =>
    builder
      .select({ ...columnsOf(volumes).selected, storeName: sql`${stores.name}`.as('storeName') })
      .from(volumes)
      .innerJoin(stores, eq(stores.id, volumes.storeId))
      .where(inArray(volumes.volumeId, [...ids])),
  ({ volumeId }) => volumeId,
)

/** The volume; undefined when the cell has none of this id. */
export async function findVolume(db: Executor, id: VolumeId): Promise<Volume | undefined> {
  const row = await BY_ID.one(db, id)
  if (row === undefined) return undefined
  const { storeName, ...volume } = row
  return fromRow({ volume, storeName })
}

/** At most `max` volumes in order of id, after one. */
export async function volumePage(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly Volume[]> {
  const rows = await volumeRows(db)
    .where(gt(volumes.volumeId, after))
    .orderBy(asc(volumes.volumeId))
    .limit(max)
  return rows.map(fromRow)
}

/** The volumes that the cell has in a store. */
export async function volumesInStore(db: Executor, storeId: string): Promise<readonly Volume[]> {
  return (await volumeRows(db).where(eq(volumes.storeId, storeId))).map(fromRow)
}

/** Writes the volume, unless it has changed since it was seen; false when it has. */
export async function updateSeenVolume(tx: Tx, seen: Volume, to: Volume): Promise<boolean> {
  // A saga that began before volumes named their image does not know it.
  const written = { ...to, imageId: to.imageId ?? null, seenVersion: seen.version }
  const { affectedRows } = await tx.run(UPDATE_SEEN, written)
  return affectedRows === 1
}

/** The same of a volume that is in another store afterwards. */
export async function moveSeenVolume(tx: Tx, seen: Volume, to: Volume): Promise<boolean> {
  const { affectedRows } = await tx.run(MOVE_SEEN, { ...to, seenVersion: seen.version })
  return affectedRows === 1
}

/** Removes the volume if the saga is still changing it; false when another is. */
export async function removeOwnVolume(
  tx: Tx,
  owner: SagaId,
  { id, attempt }: Pick<Volume, 'id' | 'attempt'>,
): Promise<boolean> {
  return (await tx.run(REMOVE_OWN, { id, attempt, owner })).affectedRows === 1
}

export type VolumeOutcome = 'accepted' | 'refused' | 'deleted'

/** The answer to which the cell has committed itself for one attempt. */
export interface VolumeAttempt {
  readonly outcome: VolumeOutcome
  readonly reason: string | null
}

/**
 * Commits the cell to its answer for an attempt, in a transaction that fails with `conflict` when a newer attempt of
 * the volume is known, and with a duplicate-key error when this one has its answer already.
 */
export function queueVolumeAttempt(
  tx: Tx,
  { volumeId, attempt }: VolumeAttemptRef,
  { outcome, reason }: VolumeAttempt,
): void {
  const otherwise = () => new Failure('conflict', 'The cell has a newer attempt of the volume.')
  tx.queue(INSERT_ATTEMPT, { volumeId, attempt, outcome, reason }, { rows: 1, otherwise })
}

/** The cell's answer to an attempt; undefined if it has given none. */
export async function findVolumeAttempt(
  db: Executor,
  { volumeId, attempt }: VolumeAttemptRef,
): Promise<VolumeAttempt | undefined> {
  const [row] = await db.orm
    .select({ outcome: volumeAttempts.outcome, reason: volumeAttempts.reason })
    .from(volumeAttempts)
    .where(and(eq(volumeAttempts.volumeId, volumeId), eq(volumeAttempts.attempt, attempt)))
  return row && { outcome: row.outcome as VolumeOutcome, reason: row.reason }
}

/**
 * The newest attempt of a volume, if that is over and was begun after the database was last restored, so that there cannot
 * have been a newer one; undefined otherwise.
 */
export async function endedVolumeAttempt(db: Executor, id: string): Promise<number | undefined> {
  const { volumeId, attempt, outcome, createdAt } = volumeAttempts
  const [newest] = await db.orm
    .select({ attempt, outcome, isComplete: sql<number>`${createdAt} > ${feedState.beganAt}` })
    .from(volumeAttempts)
    .innerJoin(feedState, sql`true`)
    .where(eq(volumeId, id))
    .orderBy(desc(attempt))
    .limit(1)
  if (newest?.outcome !== 'deleted' || newest.isComplete !== 1) return undefined
  return newest.attempt
}

/** Afterwards the attempt is known to be over here. */
export function queueVolumeEnd(tx: Tx, { id, attempt }: Pick<Volume, 'id' | 'attempt'>): void {
  tx.queue(END_ATTEMPT, { id, attempt })
}

/** Forgets at most `max` answers given before a time. Returns how many. */
export async function purgeVolumeAttempts(
  db: Executor,
  before: Date,
  max: number,
): Promise<number> {
  return (await db.run(PURGE_ATTEMPTS, { before, max: String(max) })).affectedRows
}

function volumeRows(db: Executor) {
  return db.orm
    .select({ volume: volumes, storeName: stores.name })
    .from(volumes)
    .innerJoin(stores, eq(stores.id, volumes.storeId))
    .$dynamic()
}

function fromRow(joined: { readonly volume: Row; readonly storeName: string }): Volume {
  const { volumeId, createdAt: _, updatedAt, ...row } = joined.volume
  return {
    ...row,
    id: volumeId as VolumeId,
    state: row.state as VolumeState,
    storeName: joined.storeName,
    hostId: row.hostId as HostId,
    sagaId: row.sagaId as SagaId | null,
    updatedAt: updatedAt.getTime(),
  }
}
