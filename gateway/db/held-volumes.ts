import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, VolumeId } from '#common/ids.ts'
import type { Volume, VolumeStatus } from '../app/volumes/volume.ts'

const p = sql.placeholder

/** The statuses of a whole volume, by its attachments. */
export const HOLDING: ReadonlySet<VolumeStatus> = new Set([
  'available',
  'attaching',
  'in-use',
  'detaching',
])

const isWhole = sql`status in (${sql.raw([...HOLDING].map((status) => `'${status}'`).join(', '))})`

/** What its attachments make of a volume. */
const heldStatus = sql`(
  select case
    when coalesce(sum(state = 'attached'), 0) > 0 then 'in-use'
    when coalesce(sum(state = 'attaching'), 0) > 0 then 'attaching'
    when coalesce(sum(state = 'detaching'), 0) > 0 then 'detaching'
    else 'available' end
  from volume_attachments where volume_attachments.volume_id = volumes.id)`

const byId = { keys: ['id'] }
const LOCK = sqlStatement(sql`update volumes set updated_at = now(3) where id = ${p('id')}`, byId)
const HOLDS = sqlStatement(
  sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'volume.state', now(3), id, project_id, cell_id, json_object('state', 'attaching', 'fault', null)
  from volumes where id = ${p('id')} and status = 'available'`,
  byId,
)
/** Transactions that commit together do not wait for each other: the second finds that the first has changed the status. */
const HOLD = sqlStatement(sql`
  update volumes set status = if(status = 'available', 'attaching', status), updated_at = now(3)
  where id = ${p('id')} and cell_id = ${p('cellId')} and attempt = ${p('attempt')}
    and is_multiattach = ${p('isMultiattach')} and coalesce(is_read_only, false) = ${p('isReadOnly')}
    and (status = 'available' or (is_multiattach and status = 'in-use'))`)
const SHOWN = sqlStatement(
  sql`
  insert into event_inbox (type, at, volume_id, project_id, cell_id, details)
  select 'volume.state', now(3), id, project_id, cell_id, json_object('state', shown, 'fault', null)
  from (
    select id, project_id, cell_id, status, ${heldStatus} as shown from volumes
    where id = ${p('id')} and ${isWhole}) held
  where status <> shown`,
  byId,
)
const SHOW = sqlStatement(
  sql`
  update volumes set status = ${heldStatus}, updated_at = now(3)
  where id = ${p('id')} and ${isWhole}`,
  byId,
)

/** Until the transaction ends, others that hold or lock the volume wait. */
export function queueVolumeLock(tx: Tx, id: VolumeId): void {
  tx.queue(LOCK, { id })
}

/**
 * Afterwards a volume is held that was read as free: available, or shared and in use. Where it is not, or is another now, the
 * transaction fails with `otherwise`. An attachment is to be added.
 */
export function queueHold(
  tx: Tx,
  volume: Pick<Volume, 'id' | 'attempt' | 'isMultiattach'> & {
    readonly cellId: CellId
    readonly isReadOnly: boolean
  },
  otherwise: () => Error,
): void {
  tx.queue(HOLDS, { id: volume.id })
  tx.queue(HOLD, { ...volume }, { rows: 1, otherwise })
}

/** Afterwards a volume that the transaction has locked shows what its attachments make of it. One that is not whole stays as it is. */
export function queueHeldStatus(tx: Tx, id: VolumeId): void {
  tx.queue(SHOWN, { id })
  tx.queue(SHOW, { id })
}
