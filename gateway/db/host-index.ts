import { eq, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { isInFuture } from '#common/db/columns.ts'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type NewEvent, queueEvents } from './event-inbox.ts'
import { HOST_DRAIN, slotOf } from './operations.ts'
import { hostIndex } from './schema/cells.ts'
import { ascii, BY_KEY } from './server-attempts.ts'

const now = sql`now(3)`
// A view of an equal version shows the same, and counts as newer. The row may belong to another cell, which reported
// the host first: such a row is not changed.
const isNewer = sql`values(cell_id) = cell_id and values(version) >= version`

/** For hosts that may be new only: every row it is given takes a serial, also one that is then not inserted. */
const INSERT = rowsInsert(hostIndex, ['cellId', 'hostId', 'name', 'version', 'view'], {
  fixed: { createdAt: now, updatedAt: now },
  onDuplicate: sql`name = if(${isNewer}, values(name), name),
    view = if(${isNewer}, values(view), view),
    updated_at = if(${isNewer}, values(updated_at), updated_at),
    version = if(${isNewer}, values(version), version)`,
})

/** Any number of views in one statement, in the array's order. */
const UPDATE = sqlStatement(sql`
  update json_table(${sql.placeholder('views')}, '$[*]' columns (
    host_id ${ascii(36)} path '$.hostId', name ${ascii(64)} path '$.name',
    version int path '$.version', view json path '$')) v
  straight_join host_index h${BY_KEY} on h.cell_id = ${sql.placeholder('cellId')} and h.host_id = v.host_id
  set h.name = v.name, h.view = v.view, h.updated_at = now(3), h.version = v.version
  where v.version >= h.version`)

const KNOWN = sqlStatement(sql`
  select h.host_id, h.version, h.view
  from json_table(${sql.placeholder('views')}, '$[*]' columns (
    host_id ${ascii(36)} path '$.hostId')) v
  straight_join host_index h${BY_KEY} on h.cell_id = ${sql.placeholder('cellId')} and h.host_id = v.host_id`)

/** Cells that have one of these hosts, or were given a token for it, other than the one that speaks. */
const OWNERS = sqlStatement(sql`
  select v.host_id, c.name
  from json_table(${sql.placeholder('views')}, '$[*]' columns (
    host_id ${ascii(36)} path '$.hostId')) v
  straight_join (
    select host_id, cell_id from host_index
    union select host_id, cell_id from join_tokens where host_id is not null
  ) h on h.host_id = v.host_id and h.cell_id <> ${sql.placeholder('cellId')}
  straight_join cell_mappings c on c.id = h.cell_id`)

const FORGET_VERSIONS = sqlStatement(
  sql`update host_index set version = 0 where cell_id = ${sql.placeholder('cellId')}`,
)

// It reads one entry of an index for each row of the answer, although there may be a hundred thousand hosts. MariaDB does so
// where the first column of the index is selected, too.
export const ZONES_OF_HOSTS = sql`
  select distinct is_deleted, cell_id, zone, is_up, is_forced_down from host_index where is_deleted = 0`
const READ_ZONES = sqlStatement(ZONES_OF_HOSTS)

const RECOVERING = sqlStatement(sql`
  select distinct cell_id from host_index
  where is_deleted = 0 and is_up = 0 and is_forced_down = 0 and json_value(view, '$.isDisabled') = 0
    and updated_at > now(3) - interval 60 second and not ${isInFuture(sql`updated_at`)}`)

// Each host that is being drained holds a slot. The first host that serves ends the search in a cell.
const SERVING = sqlStatement(sql`
  select c.cell_id
  from json_table(${sql.placeholder('cells')}, '$[*]' columns (cell_id ${ascii(36)} path '$')) c
  where exists (select 1 from host_index h
    where h.is_deleted = 0 and h.cell_id = c.cell_id and h.is_up = 1 and h.is_forced_down = 0
      and json_value(h.view, '$.isDisabled') = 0
      and not exists (select 1 from operations o
        where o.slot = concat(${slotOf(HOST_DRAIN, '')}, h.host_id)))`)

const WITH_HOST = statement(
  builder
    .select({ cell_id: hostIndex.cellId })
    .from(hostIndex)
    .where(eq(hostIndex.name, sql.placeholder('name'))),
)

/**
 * Stores views of a cell's hosts that are newer than those known, with events for hosts whose state changed; other
 * views change nothing, in particular those of another cell's hosts: the first such view of each host is logged. At
 * most one per host.
 */
export async function applyHostViews(
  tx: Tx,
  cellId: CellId,
  views: readonly HostView[],
): Promise<void> {
  if (views.length === 0) return
  const ordered = views.toSorted((a, b) => (a.hostId < b.hostId ? -1 : 1))
  const values = { cellId, views: JSON.stringify(ordered) }
  const rows = await tx.rows<{ host_id: string; version: number; view: HostView }>(KNOWN, values)
  const known = new Map(rows.map((row) => [row.host_id, row]))
  if (known.size > 0) tx.queue(UPDATE, values)
  const unknown = ordered.filter(({ hostId }) => !known.has(hostId))
  const owners = await ownersOf(tx, cellId, unknown)
  const added = unknown.filter(({ hostId }) => !owners.has(hostId))
  INSERT.queue(
    tx,
    added.map((view) => {
      const { hostId, name, version } = view
      return { cellId, hostId, name, version, view }
    }),
  )
  queueEvents(
    tx,
    ordered.flatMap((view) => {
      const owner = owners.get(view.hostId)
      if (owner !== undefined) return claimEvent(cellId, view, owner)
      const was = known.get(view.hostId)
      const isNew = was === undefined || was.version < view.version
      return isNew ? hostEvent(cellId, was?.view, view) : []
    }),
  )
}

/** The names of other cells by the ids of the hosts that are theirs. */
async function ownersOf(
  tx: Tx,
  cellId: CellId,
  views: readonly HostView[],
): Promise<ReadonlyMap<string, string>> {
  if (views.length === 0) return new Map()
  const values = { cellId, views: JSON.stringify(views.map(({ hostId }) => ({ hostId }))) }
  const rows = await tx.rows<{ host_id: string; name: string }>(OWNERS, values)
  return new Map(rows.map((row) => [row.host_id, row.name]))
}

/** Claims logged by this process: a cell repeats the same with every change of the host. */
const reportedClaims = new LRUCache<string, true>({ max: 1_000 })

function claimEvent(cellId: CellId, { hostId, name }: HostView, owner: string): NewEvent[] {
  const claim = `${cellId} ${hostId}`
  if (reportedClaims.has(claim)) return []
  reportedClaims.set(claim, true)
  const message = `Host ${hostId} belongs to cell ${owner}: reports of it from another cell are ignored.`
  return [{ type: 'host.state', cellId, details: { host: name, state: 'refused', message } }]
}

function hostEvent(cellId: CellId, was: HostView | undefined, is: HostView): NewEvent[] {
  const state = hostState(is)
  const isSame = was !== undefined && hostState(was) === state
  const isHeld = is.fenceProblem !== undefined && is.fenceProblem !== was?.fenceProblem
  if (isSame && !isHeld) return []
  const message = messageOf(is)
  return [{ type: 'host.state', cellId, details: { host: is.name, state, message } }]
}

function messageOf({ fencedAt, fenceProblem, isDisabled, disabledReason, down }: HostView) {
  if (fencedAt !== undefined) return 'It did not answer, and was fenced.'
  if (fenceProblem !== undefined) return fenceProblem
  return isDisabled ? disabledReason : down
}

function hostState({ isDeleted, isDisabled, isForcedDown, isUp, fencedAt }: HostView): string {
  if (isDeleted) return 'deleted'
  if (fencedAt !== undefined) return 'fenced'
  if (isDisabled) return 'cordoned'
  return isUp && !isForcedDown ? 'up' : 'down'
}

/** Afterwards any view of the cell's hosts is newer: its database was restored, and its versions began again. */
export async function forgetHostVersions(tx: Tx, cellId: CellId): Promise<void> {
  await tx.run(FORGET_VERSIONS, { cellId })
}

/** The hosts of one cell in the index. */
export interface IndexedHosts {
  /** True where one of them is up and not forced down. */
  readonly isAnyUp: boolean
  /** Of all of them. */
  readonly zones: readonly string[]
}

interface ZoneRow {
  readonly cell_id: CellId
  readonly zone: string
  readonly is_up: number
  readonly is_forced_down: number
}

/** By cell; cells without hosts are absent. */
export async function indexedHosts(db: Executor): Promise<ReadonlyMap<CellId, IndexedHosts>> {
  const byCell = Map.groupBy(await db.rows<ZoneRow>(READ_ZONES, {}), (row) => row.cell_id)
  return new Map(
    [...byCell].map(([cellId, rows]) => [
      cellId,
      {
        isAnyUp: rows.some((row) => row.is_up === 1 && row.is_forced_down === 0),
        zones: [...new Set(rows.map(({ zone }) => zone))],
      },
    ]),
  )
}

/** The cells with hosts that are down without being forced down, and whose state changed within the last minute. */
export async function cellsWithRecoveringHosts(db: Executor): Promise<readonly CellId[]> {
  return (await db.rows<{ cell_id: CellId }>(RECOVERING, {})).map((row) => row.cell_id)
}

/** Those of the cells with a host that may take servers: it is up, and neither cordoned nor about to be, because it is drained. */
export async function cellsWithServingHosts(
  db: Executor,
  cells: ReadonlySet<CellId>,
): Promise<ReadonlySet<CellId>> {
  if (cells.size === 0) return new Set()
  const rows = await db.rows<{ cell_id: CellId }>(SERVING, { cells: JSON.stringify([...cells]) })
  return new Set(rows.map((row) => row.cell_id))
}

/** The cells that have a host of this name. */
export async function cellsWithHost(db: Executor, name: string): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ cell_id: string }>(WITH_HOST, { name })
  return new Set(rows.map((row) => row.cell_id))
}
