import { and, asc, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import { queueEvents } from './event-inbox.ts'
import type { Loss } from './lost-cells.ts'
import { cellMappings } from './schema/cells.ts'

/** `NoSchedule`: no new server comes here; `PreferNoSchedule`: none that another cell can take. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule'

/** What keeps new servers out of a cell unless their placement policy tolerates it, as a taint of a node in Kubernetes. */
export interface Taint {
  readonly key: string
  /** May be empty. */
  readonly value: string
  readonly effect: TaintEffect
}

/** By key. */
export type Labels = Readonly<Record<string, string>>

export interface CellMapping {
  readonly id: CellId
  readonly name: string
  readonly isDisabled: boolean
  readonly disabledReason: string | null
  readonly weight: number
  /** Null: the one of all cells for which none is named. */
  readonly transportZone: string | null
  readonly labels: Labels
  readonly taints: readonly Taint[]
  /** How long no gateway has heard it before its servers are rebuilt in other cells; null: never by itself. */
  readonly recoverAfterS: number | null
  readonly revision: number
  readonly needsResync: boolean
  readonly createdAt: Date
  readonly lastHeartbeatAt: Date | null
  /** Of that heartbeat. */
  readonly summary: CellSummary | null
  /** Null for a cell that is not declared lost. */
  readonly loss: Loss | null
}

/** How far a cell's change feed has been applied. */
export interface FeedPosition {
  /** Null before the first contact. */
  readonly incarnation: string | null
  readonly position: number
  readonly needsResync: boolean
}

const cellId = sql.placeholder('cellId')

const LIST = statement(
  builder
    .select({
      id: cellMappings.id,
      name: cellMappings.name,
      is_disabled: cellMappings.isDisabled,
      disabled_reason: cellMappings.disabledReason,
      weight: cellMappings.weight,
      transport_zone: cellMappings.transportZone,
      labels: cellMappings.labels,
      taints: cellMappings.taints,
      recover_after_s: cellMappings.recoverAfterS,
      revision: cellMappings.revision,
      needs_resync: cellMappings.needsResync,
      created_at: cellMappings.createdAt,
      last_heartbeat_at: cellMappings.lastHeartbeatAt,
      summary: cellMappings.summary,
      lost_at: cellMappings.lostAt,
      lost_by: cellMappings.lostBy,
      lost_statement: cellMappings.lostStatement,
    })
    .from(cellMappings)
    .orderBy(asc(cellMappings.name)),
)

const SILENT = sqlStatement(sql`
  select id from cell_mappings
  where recover_after_s is not null and lost_at is null
    and last_heartbeat_at < now(3) - interval recover_after_s second`)

const POSITION = statement(
  builder
    .select({
      incarnation: cellMappings.incarnation,
      applied_position: cellMappings.appliedPosition,
      needs_resync: cellMappings.needsResync,
    })
    .from(cellMappings)
    .where(eq(cellMappings.id, cellId)),
)

const ADVANCE = statement(
  builder
    .update(cellMappings)
    .set({
      incarnation: sql`${sql.placeholder('incarnation')}`,
      appliedPosition: sql`${sql.placeholder('to')}`,
      needsResync: sql`${cellMappings.needsResync} and not ${sql.placeholder('isResynced')}`,
    })
    .where(
      and(
        eq(cellMappings.id, cellId),
        sql`${cellMappings.incarnation} <=> ${sql.placeholder('wasIncarnation')}`,
        eq(cellMappings.appliedPosition, sql.placeholder('from')),
      ),
    ),
)

const HEARD = statement(
  builder
    .update(cellMappings)
    .set({ lastHeartbeatAt: sql`now(3)`, summary: sql`${sql.placeholder('summary')}` })
    .where(eq(cellMappings.id, cellId)),
)

const SET_UNREACHABLE = statement(
  builder
    .update(cellMappings)
    .set({ isUnreachable: sql`${sql.placeholder('isUnreachable')}` })
    .where(and(eq(cellMappings.id, cellId), sql`is_dark <> ${sql.placeholder('isUnreachable')}`)),
)

const REQUEST_RESYNC = statement(
  builder.update(cellMappings).set({ needsResync: true }).where(eq(cellMappings.id, cellId)),
)

/** All of them; there are few, and each gateway keeps them in memory. */
export async function listCellMappings(db: Executor): Promise<readonly CellMapping[]> {
  const rows = await db.rows<{
    id: CellId
    name: string
    is_disabled: number
    disabled_reason: string | null
    weight: number
    transport_zone: string | null
    labels: Labels | null
    taints: readonly Taint[] | null
    recover_after_s: number | null
    revision: number
    needs_resync: number
    created_at: Date
    last_heartbeat_at: Date | null
    summary: CellSummary | null
    lost_at: Date | null
    lost_by: string | null
    lost_statement: string | null
  }>(LIST, {})
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    isDisabled: Boolean(row.is_disabled),
    disabledReason: row.disabled_reason,
    weight: row.weight,
    transportZone: row.transport_zone,
    labels: row.labels ?? {},
    taints: row.taints ?? [],
    recoverAfterS: row.recover_after_s,
    revision: row.revision,
    needsResync: Boolean(row.needs_resync),
    createdAt: row.created_at,
    lastHeartbeatAt: row.last_heartbeat_at,
    summary: row.summary,
    loss: row.lost_at && { at: row.lost_at, by: row.lost_by!, statement: row.lost_statement! },
  }))
}

/** The ids of cells that no gateway has heard for as long as their operators set. */
export async function cellsToRecover(db: Executor): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ id: string }>(SILENT, {})
  return new Set(rows.map(({ id }) => id))
}

/** The properties of a cell that operators set. */
export type CellChoices = Pick<
  CellMapping,
  | 'isDisabled'
  | 'disabledReason'
  | 'weight'
  | 'transportZone'
  | 'labels'
  | 'taints'
  | 'recoverAfterS'
>

/**
 * Writes the decision and its event if no other decision was written since `revision`; otherwise changes nothing and
 * returns false.
 */
export async function updateCellMapping(
  tx: Tx,
  { id, revision, isDisabled }: Pick<CellMapping, 'id' | 'revision' | 'isDisabled'>,
  choices: CellChoices,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(cellMappings)
    .set({ ...choices, revision: revision + 1 })
    .where(and(eq(cellMappings.id, id), eq(cellMappings.revision, revision)))
  if (result.affectedRows === 0) return false
  const { disabledReason: message } = choices
  const details = { state: choices.isDisabled ? 'disabled' : 'enabled', message }
  if (choices.isDisabled !== isDisabled)
    queueEvents(tx, [{ type: 'cell.state', cellId: id, details }])
  return true
}

/** Afterwards the cell is known under this name. Repeating it is harmless; a name or id in other use is a conflict. */
export async function insertCellMapping(
  db: Executor,
  cell: { readonly id: CellId; readonly name: string },
): Promise<void> {
  const now = sql`now(3)`
  await db.orm
    .insert(cellMappings)
    .values({ ...cell, createdAt: now })
    .onDuplicateKeyUpdate({ set: { id: sql`${cellMappings.id}` } })
  const known = await db.orm
    .select({ id: cellMappings.id })
    .from(cellMappings)
    .where(and(eq(cellMappings.id, cell.id), eq(cellMappings.name, cell.name)))
  if (known.length === 0)
    throw new Failure('conflict', `Cell '${cell.name}' is registered under another id or name.`)
}

/** How far the cell's feed is applied; undefined for a cell that is not registered. */
export async function readFeedPosition(
  db: Executor,
  cell: CellId,
): Promise<FeedPosition | undefined> {
  const [row] = await db.rows<{
    incarnation: string | null
    applied_position: number
    needs_resync: number
  }>(POSITION, { cellId: cell })
  if (row === undefined) return undefined
  return {
    incarnation: row.incarnation,
    position: Number(row.applied_position),
    needsResync: Boolean(row.needs_resync),
  }
}

/**
 * Moves the position from where the caller read it. Throws `conflict` when another process has moved it since: then
 * nothing of the caller's transaction may commit.
 */
export function queueFeedAdvance(
  tx: Tx,
  cell: CellId,
  was: FeedPosition,
  next: Pick<FeedPosition, 'incarnation' | 'position'> & { readonly isResynced?: boolean },
): void {
  const values = {
    cellId: cell,
    wasIncarnation: was.incarnation,
    from: was.position,
    incarnation: next.incarnation,
    to: next.position,
    isResynced: next.isResynced ?? false,
  }
  tx.queue(ADVANCE, values, {
    rows: 1,
    otherwise: () =>
      new Failure('conflict', `The feed of cell ${cell} is applied by another process.`),
  })
}

/** Records the summary, and the database's time as the time of the heartbeat. */
export async function noteHeartbeat(
  db: Executor,
  cell: CellId,
  summary: CellSummary,
): Promise<void> {
  await db.run(HEARD, { cellId: cell, summary: JSON.stringify(summary) })
}

/** Records whether the cell is unreachable, with an event where that has changed. */
export async function recordReachability(
  tx: Tx,
  cell: CellId,
  isUnreachable: boolean,
): Promise<void> {
  const { affectedRows } = await tx.run(SET_UNREACHABLE, { cellId: cell, isUnreachable })
  if (affectedRows === 0) return
  const details = { state: isUnreachable ? 'unreachable' : 'reachable' }
  queueEvents(tx, [{ type: 'cell.state', cellId: cell, details }])
}

/** Afterwards the cell's leaseholder reads a full copy of the cell. False when there is no such cell. */
export async function requestResync(db: Executor, cell: CellId): Promise<boolean> {
  return (await db.run(REQUEST_RESYNC, { cellId: cell })).affectedRows === 1
}
