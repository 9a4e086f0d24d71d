import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'

const p = sql.placeholder

/** Run before the row is written: only a change of its status is an event. `fault` is for operators. */
const VOLUME = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'volume.state', now(3), id, project_id, cell_id,
    json_object('state', ${p('status')}, 'fault', ${p('fault')})
  from volumes where id = ${p('id')} and status <> ${p('status')}`)
const NEW_VOLUME = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'volume.state', now(3), id, project_id, cell_id, json_object('state', status, 'fault', fault)
  from volumes where id = ${p('id')}`)
const VOLUME_DELETED = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'volume.deleted', now(3), id, project_id, cell_id,
    json_object('state', 'deleted', 'volumeName', name)
  from volumes where id = ${p('id')}`)
const SNAPSHOT = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'snapshot.state', now(3), volume_id, project_id, cell_id,
    json_object('state', ${p('status')}, 'fault', ${p('fault')}, 'snapshotId', id)
  from volume_snapshots where id = ${p('id')} and status <> ${p('status')}`)
const NEW_SNAPSHOT = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'snapshot.state', now(3), volume_id, project_id, cell_id,
    json_object('state', status, 'snapshotId', id)
  from volume_snapshots where id = ${p('id')}`)
const SNAPSHOT_DELETED = sqlStatement(sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'snapshot.deleted', now(3), volume_id, project_id, cell_id,
    json_object('state', 'deleted', 'snapshotId', id)
  from volume_snapshots where id = ${p('id')}`)

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

/** Adds the event of a volume that the transaction has just added. */
export async function addNewVolumeEvent(tx: Tx, id: VolumeId): Promise<void> {
  await tx.run(NEW_VOLUME, { id })
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
