import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'

const p = sql.placeholder

/** The event of a volume, or of a snapshot of it, from its row as that is. `fault` is for operators. */
function eventOf(
  type: string,
  { from, volumeId }: { readonly from: string; readonly volumeId: string },
  details: SQL,
  condition: SQL = sql`true`,
) {
  return sqlStatement(sql`
    insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
    select ${sql.raw(`'${type}'`)}, now(3), ${sql.raw(volumeId)}, project_id, cell_id, ${details}
    from ${sql.raw(from)} where id = ${p('id')} and ${condition}`)
}

const OF_VOLUME = { from: 'volumes', volumeId: 'id' } as const
const OF_SNAPSHOT = { from: 'volume_snapshots', volumeId: 'volume_id' } as const
/** Before the row is written: only a change of its status is an event. */
const isChanged = sql`status <> ${p('status')}`

const VOLUME = eventOf(
  'volume.state',
  OF_VOLUME,
  sql`json_object('state', ${p('status')}, 'fault', ${p('fault')})`,
  isChanged,
)
const WRITTEN_VOLUME = eventOf(
  'volume.state',
  OF_VOLUME,
  sql`json_object('state', status, 'fault', fault)`,
)
const VOLUME_DELETED = eventOf(
  'volume.deleted',
  OF_VOLUME,
  sql`json_object('state', 'deleted', 'volumeName', name)`,
)
const SNAPSHOT = eventOf(
  'snapshot.state',
  OF_SNAPSHOT,
  sql`json_object('state', ${p('status')}, 'fault', ${p('fault')}, 'snapshotId', id)`,
  isChanged,
)
const NEW_SNAPSHOT = eventOf(
  'snapshot.state',
  OF_SNAPSHOT,
  sql`json_object('state', status, 'snapshotId', id)`,
)
const SNAPSHOT_DELETED = eventOf(
  'snapshot.deleted',
  OF_SNAPSHOT,
  sql`json_object('state', 'deleted', 'snapshotId', id)`,
)

/** What the transaction is about to write. */
interface Written {
  /** Undefined: as it is. */
  readonly status?: string
  readonly fault?: string | null
}

/** Adds the event of a volume that the transaction is about to write, if its status changes. */
export async function addVolumeEvent(
  tx: Tx,
  id: VolumeId,
  { status, fault = null }: Written,
): Promise<void> {
  if (status !== undefined) await tx.run(VOLUME, { id, status, fault })
}

/** Adds the event of a volume that the transaction has just added, or given to another project, which sees it. */
export async function addWrittenVolumeEvent(tx: Tx, id: VolumeId): Promise<void> {
  await tx.run(WRITTEN_VOLUME, { id })
}

/** Adds the last event of a volume, which the transaction is about to remove. */
export async function addVolumeDeletedEvent(tx: Tx, id: VolumeId): Promise<void> {
  await tx.run(VOLUME_DELETED, { id })
}

/** Adds the event of a snapshot that the transaction is about to write, if its status changes. */
export async function addSnapshotEvent(
  tx: Tx,
  id: VolumeSnapshotId,
  { status, fault = null }: Written,
): Promise<void> {
  if (status !== undefined) await tx.run(SNAPSHOT, { id, status, fault })
}

/** Adds the event of a snapshot that the transaction has just added. */
export async function addNewSnapshotEvent(tx: Tx, id: VolumeSnapshotId): Promise<void> {
  await tx.run(NEW_SNAPSHOT, { id })
}

/** Adds the last event of a snapshot, which the transaction is about to remove. */
export async function addSnapshotDeletedEvent(tx: Tx, id: VolumeSnapshotId): Promise<void> {
  await tx.run(SNAPSHOT_DELETED, { id })
}
