import { and, asc, eq, inArray, lte, or, sql } from 'drizzle-orm'
import { isInFuture } from '#common/db/columns.ts'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { PolicySubject } from '../app/placement-policies/applied-policy.ts'
import { guestRestarts } from './schema/protections.ts'
import { requestSpecs, serverIndex } from './schema/servers.ts'
import { ascii, BY_KEY } from './server-attempts.ts'

/** A server whose guest has ended by itself, and that may be started again now. */
export interface GuestRestart extends PolicySubject {
  readonly serverId: string
  readonly cellId: CellId
  /** It is off, and nothing has changed that since. */
  readonly isOff: boolean
  /** How often it was started again in a row. */
  readonly restarts: number
  readonly dueAt: Date
}

const { placeholder } = sql
/** A guest that has run for so long is not one that always ends. */
const QUIET_S = 600
const PAUSE_FIRST_S = 10
const PAUSE_MAX_S = 600
/** Longer than a gateway waits for the answer of a cell: the gateway that was to start the server has ended. */
const TAKEN_S = 60

const CRASHED = sqlStatement(sql`
  insert into guest_restarts (server_id, restarts, due_at)
  select s.server_id, 0, now(3)
  from json_table(${placeholder('servers')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt', version int path '$.version')) v
  straight_join server_index s${BY_KEY} on s.server_id = v.server_id
  where s.cell_id = ${placeholder('cellId')} and s.attempt = v.attempt and s.version < v.version
    and s.vm_state = 'active' and not s.is_deleting
  on duplicate key update
    restarts = if(restarted_at is null or restarted_at < now(3) - interval ${sql.raw(String(QUIET_S))} second, 0,
      guest_restarts.restarts),
    due_at = now(3) + interval if(guest_restarts.restarts = 0, 0, least(
      ${sql.raw(String(PAUSE_FIRST_S))} * pow(2, guest_restarts.restarts - 1), ${sql.raw(String(PAUSE_MAX_S))})) second`)

const END = sqlStatement(
  sql`update guest_restarts set due_at = null where server_id = ${placeholder('serverId')}`,
)

const PURGE = sqlStatement(sql`
  delete from guest_restarts
    where not exists (select 1 from instance_mappings m where m.server_id = guest_restarts.server_id)
    limit ${placeholder('max')}`)

/**
 * Afterwards servers that were active until these views of their cell may be started again: at once, and after longer
 * and longer pauses where their guests always end soon. To be queued before the views are applied.
 */
export function queueCrashes(tx: Tx, cellId: CellId, views: readonly InstanceView[]): void {
  if (views.length === 0) return
  const servers = views.map(({ serverId, attempt, version }) => ({ serverId, attempt, version }))
  tx.queue(CRASHED, { cellId, servers: JSON.stringify(servers) })
}

/** Those of servers in these cells that have waited longest first. Servers of other cells keep none of them waiting. */
export async function dueRestarts(
  db: Executor,
  cells: readonly CellId[],
  max: number,
): Promise<readonly GuestRestart[]> {
  const { serverId, dueAt, restarts } = guestRestarts
  const { projectId, flavorId, cellId, vmState } = serverIndex
  const rows = await db.orm
    .select({
      ...{ serverId, dueAt, restarts, projectId, flavorId, cellId, vmState },
      hint: sql<string | null>`json_value(${requestSpecs.spec}, '$.policyHint')`,
    })
    .from(guestRestarts)
    .innerJoin(serverIndex, eq(serverIndex.serverId, serverId))
    .leftJoin(requestSpecs, eq(requestSpecs.serverId, serverId))
    .where(
      and(
        or(lte(dueAt, sql`now(3)`), isInFuture(sql`${dueAt} - interval ${PAUSE_MAX_S} second`)),
        inArray(cellId, [...cells]),
      ),
    )
    .orderBy(asc(dueAt))
    .limit(max)
  return rows.flatMap(({ dueAt: due, cellId: cell, hint, vmState: state, ...row }) => {
    if (due === null || cell === null) return []
    const isOff = state === 'stopped'
    return [{ ...row, hint: hint ?? undefined, isOff, dueAt: due, cellId: cell as CellId }]
  })
}

/**
 * Makes one gateway the one that starts the server, which counts as started again: the same, as it is now, for it alone. It
 * is due again after a while, should that gateway end before it has asked.
 */
export function takeRestart(
  db: Transactional,
  due: GuestRestart,
): Promise<GuestRestart | undefined> {
  const { serverId } = due
  return db.transaction(async (tx) => {
    const taken = { dueAt: sql`now(3) + interval ${TAKEN_S} second`, restartedAt: sql`now(3)` }
    if (!(await changed(tx, due, { ...taken, restarts: due.restarts + 1 }))) return undefined
    const [row] = await tx.orm
      .select({ dueAt: guestRestarts.dueAt, restarts: guestRestarts.restarts })
      .from(guestRestarts)
      .where(eq(guestRestarts.serverId, serverId))
    return row?.dueAt == null ? undefined : { ...due, ...row, dueAt: row.dueAt }
  })
}

/** Afterwards nothing is to be done, unless its guest has ended again since. */
export function settleRestart(db: Executor, taken: GuestRestart): Promise<boolean> {
  return changed(db, taken, { dueAt: null })
}

/** Afterwards it is not due any more: it stays off. */
export function endRestart(db: Executor, due: GuestRestart): Promise<boolean> {
  return changed(db, due, { dueAt: null, restarts: 0 })
}

/** Afterwards the server, which was taken and not started, is due again after a pause, unless its guest has ended again, or somebody wants it off. */
export function retryRestart(db: Executor, taken: GuestRestart): Promise<boolean> {
  const pauseS = Math.min(PAUSE_FIRST_S * 2 ** (taken.restarts - 1), PAUSE_MAX_S)
  return changed(db, taken, { dueAt: sql`now(3) + interval ${pauseS} second` })
}

/** Afterwards the server is not started by itself, as it was to be: somebody wants it off. */
export function queueRestartEnd(tx: Tx, serverId: string): void {
  tx.queue(END, { serverId })
}

/** Removes at most so many rows of servers that are gone, and returns how many. */
export async function purgeGuestRestarts(db: Executor, max: number): Promise<number> {
  return (await db.run(PURGE, { max })).affectedRows
}

async function changed(
  db: Executor,
  { serverId, dueAt }: GuestRestart,
  change: Parameters<ReturnType<Executor['orm']['update']>['set']>[0],
): Promise<boolean> {
  const isSame = and(eq(guestRestarts.serverId, serverId), eq(guestRestarts.dueAt, dueAt))
  const [result] = await db.orm.update(guestRestarts).set(change).where(isSame)
  return result.affectedRows === 1
}
