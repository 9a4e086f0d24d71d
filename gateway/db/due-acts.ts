import { type SQL, sql } from 'drizzle-orm'
import { isInFuture } from '#common/db/columns.ts'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, InstanceId } from '#common/ids.ts'

/** A server that something is to be done with, and whose it is. */
export interface DueServer {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly userId: string
  readonly projectId: string
}

interface DueRow {
  readonly server_id: InstanceId
  readonly cell_id: CellId
  readonly attempt: number
  readonly user_id: string
  readonly project_id: string
}

const max = sql.placeholder('max')
const ageS = sql.placeholder('ageS')
const IDLE = sql`m.saga_id is null and m.is_deleting = false and m.cell_id is not null
  and s.deleted_at is null and s.task_state is null`
/** Those whose cells refuse the act keep no others waiting: each try changes their mappings. */
const IN_TURN = sql`order by m.changed_at`
const WHAT = sql`m.server_id, m.cell_id, m.attempt, s.user_id, s.project_id`

const UNCONFIRMED = sqlStatement(sql`
  select ${WHAT} from instance_mappings m join server_index s on s.server_id = m.server_id
  where m.is_resizing = true and ${IDLE} and s.vm_state = 'resized'
    and s.updated_at <= now(3) - interval ${ageS} second ${IN_TURN} limit ${max}`)

const SHELVED = sqlStatement(sql`
  select ${WHAT} from images i
  join instance_mappings m on m.server_id = i.snapshot_of
  join server_index s on s.server_id = m.server_id
  where i.snapshot_for = 'shelve' and i.status = 'active' and ${IDLE} and s.vm_state = 'shelved'
    and s.updated_at <= now(3) - interval ${ageS} second ${IN_TURN} limit ${max}`)

const RESIZED = sqlStatement(sql`
  select m.server_id, json_value(s.flavor, '$.vcpus') as vcpus,
    json_value(s.flavor, '$.memoryMb') as memory_mb
  from instance_mappings m join server_index s on s.server_id = m.server_id
  where m.is_resizing = true and m.saga_id is null and m.is_deleting = false
    and s.deleted_at is null and s.task_state is null and s.vm_state <> 'resized' limit ${max}`)

/** Restarts the wait of servers whose last change lies in the future: a clock was ahead when they changed. */
const restartWait = (which: SQL) =>
  sqlStatement(sql`
  update instance_mappings m join server_index s on s.server_id = m.server_id
  set s.updated_at = now(3) where ${which} and ${isInFuture(sql`s.updated_at`)}`)
const RESTART_UNCONFIRMED = restartWait(sql`m.is_resizing = true and s.vm_state = 'resized'`)
const RESTART_SHELVED = restartWait(sql`m.server_id in (
    select snapshot_of from images where snapshot_for = 'shelve' and status = 'active')
  and s.vm_state = 'shelved'`)

/** Servers whose resize has been neither confirmed nor reverted for so long. */
export async function unconfirmedResizes(db: Executor, age: number, limit: number) {
  await db.run(RESTART_UNCONFIRMED, {})
  return due(db, UNCONFIRMED, age, limit)
}

/** Servers that have been shelved for so long and still take room on their host. */
export async function shelvedServers(db: Executor, age: number, limit: number) {
  await db.run(RESTART_SHELVED, {})
  return due(db, SHELVED, age, limit)
}

async function due(
  db: Executor,
  statement: typeof UNCONFIRMED,
  ageSeconds: number,
  limit: number,
): Promise<readonly DueServer[]> {
  const rows = await db.rows<DueRow>(statement, { ageS: ageSeconds, max: BigInt(limit) })
  return rows.map((row) => ({
    serverId: row.server_id,
    cellId: row.cell_id,
    attempt: row.attempt,
    userId: row.user_id,
    projectId: row.project_id,
  }))
}

/** A server, and the size it has now. */
export interface ResizedServer {
  readonly serverId: string
  readonly vcpus: number
  readonly memoryMb: number
}

/** Servers whose resize is over, with the size they have now, or had last in a cell that is lost. */
export async function resizedServers(
  db: Executor,
  limit: number,
): Promise<readonly ResizedServer[]> {
  const rows = await db.rows<{ server_id: string; vcpus: string; memory_mb: string }>(RESIZED, {
    max: BigInt(limit),
  })
  return rows.map((row) => ({
    serverId: row.server_id,
    vcpus: Number(row.vcpus),
    memoryMb: Number(row.memory_mb),
  }))
}
