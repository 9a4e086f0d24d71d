import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { Lease } from '#common/saga/lease.ts'
import { ANY_ADOPTABLE, leaseParams } from '#common/saga/log.ts'

/** Kinds of work that may wait for a gateway. */
export const WORK_KINDS = [
  'events',
  'intents',
  'resizes',
  'kept',
  'snapshots',
  'operations',
  'volumes',
  'restarts',
  'sagas',
] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** One question for all of them, by keys of which hardly any row has the value: an idle gateway asks hardly anything else. */
const WAITING = sqlStatement(sql`
  select exists (select 1 from event_inbox) as events,
    exists (select 1 from server_intents) as intents,
    exists (select 1 from instance_mappings where is_resizing = true) as resizes,
    exists (select 1 from instance_mappings where is_kept = true) as kept,
    exists (select 1 from images where snapshot_of > '') as snapshots,
    exists (select 1 from operations where state = 'running') as operations,
    exists (select 1 from volumes where is_deleting = true and saga_id is null)
      or exists (select 1 from volume_moves where left_cell_id > '') as volumes,
    exists (select 1 from guest_restarts where due_at is not null) as restarts,
    ${ANY_ADOPTABLE} as sagas`)

/** The kinds of which there is some, due or not; sagas are those that the process with this lease may take up. */
export async function waitingWork(db: Executor, lease: Lease): Promise<readonly WorkKind[]> {
  const [row] = await db.rows<Readonly<Record<WorkKind, number>>>(WAITING, leaseParams(lease))
  return WORK_KINDS.filter((kind) => row?.[kind] === 1)
}
