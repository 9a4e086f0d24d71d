import { and, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId, InstanceId, SagaId } from '#common/ids.ts'
import { instanceMappings } from './schema/servers.ts'

/** Which cell a server is in, and who is changing that. */
export interface InstanceMapping {
  readonly serverId: InstanceId
  readonly projectId: string
  /** The amounts that the quota ledger was charged for it; its row also counts as one instance. */
  readonly cores: number
  readonly ramMb: number
  readonly isResizing: boolean
  /** False while it is deleted softly, and nothing is charged for it. */
  readonly isCharged: boolean
  readonly cellId: CellId | null
  readonly attempt: number
  readonly triedCells: readonly CellId[]
  readonly isDeleting: boolean
  readonly sagaId: SagaId | null
  readonly isNotBuilt: boolean
  /** The reason of the cell that refused the build. */
  readonly notBuiltReason: string | null
}

export type NewMapping = Pick<
  InstanceMapping,
  'serverId' | 'projectId' | 'cores' | 'ramMb' | 'cellId' | 'attempt' | 'sagaId'
>

/** Where a server is, as far as an operation on it must match. */
export interface Placement {
  readonly cellId: CellId | null
  readonly attempt: number
}

const now = sql`now(3)`
const serverId = sql.placeholder('serverId')
const sagaId = sql.placeholder('sagaId')
const isServer = eq(instanceMappings.serverId, serverId)
const isAttempt = eq(instanceMappings.attempt, sql.placeholder('attempt'))
const isWanted = eq(instanceMappings.isDeleting, false)
const isMine = eq(instanceMappings.sagaId, sagaId)

const INSERT = rowsInsert(
  instanceMappings,
  ['serverId', 'projectId', 'cores', 'ramMb', 'cellId', 'attempt', 'sagaId'],
  { fixed: { triedCells: sql`'[]'`, createdAt: now, changedAt: now } },
)

const MAPPING_COLUMNS = {
  server_id: instanceMappings.serverId,
  project_id: instanceMappings.projectId,
  cores: instanceMappings.cores,
  ram_mb: instanceMappings.ramMb,
  is_resizing: instanceMappings.isResizing,
  is_charged: instanceMappings.isCharged,
  cell_id: instanceMappings.cellId,
  attempt: instanceMappings.attempt,
  tried_cells: instanceMappings.triedCells,
  is_deleting: instanceMappings.isDeleting,
  saga_id: instanceMappings.sagaId,
  is_not_built: instanceMappings.isNotBuilt,
  not_built_reason: instanceMappings.notBuiltReason,
} as const

const FIND = statement(builder.select(MAPPING_COLUMNS).from(instanceMappings).where(isServer))
const LOCK = statement(
  builder.select(MAPPING_COLUMNS).from(instanceMappings).where(isServer).for('update'),
)

const REASSIGN = statement(
  builder
    .update(instanceMappings)
    .set({
      lostCellId: sql`if(${sql.placeholder('cellId')} is null, ${instanceMappings.lostCellId}, null)`,
      cellId: sql`${sql.placeholder('cellId')}`,
      attempt: sql`${instanceMappings.attempt} + 1`,
      triedCells: sql`${sql.placeholder('triedCells')}`,
      sagaId: sql`${sql.placeholder('nextSagaId')}`,
      isNotBuilt: false,
      notBuiltReason: null,
      changedAt: now,
    })
    .where(and(isServer, isAttempt, isWanted, sql`${instanceMappings.sagaId} <=> ${sagaId}`)),
)

const RELEASE = statement(
  builder
    .update(instanceMappings)
    .set({ sagaId: null, changedAt: now })
    .where(and(isServer, isMine)),
)

const TAKE = statement(
  builder
    .update(instanceMappings)
    .set({ sagaId: sql`${sagaId}`, changedAt: now })
    .where(
      and(
        isServer,
        isAttempt,
        isWanted,
        isNull(instanceMappings.sagaId),
        isNotNull(instanceMappings.cellId),
      ),
    ),
)

const MARK_DELETING = statement(
  builder
    .update(instanceMappings)
    .set({ isDeleting: true, sagaId: sql`${sagaId}`, changedAt: now })
    .where(isServer),
)

const MARK_SEEN_DELETING = statement(
  builder
    .update(instanceMappings)
    .set({ isDeleting: true, sagaId: sql`${sagaId}`, changedAt: now })
    .where(and(isServer, isAttempt, eq(instanceMappings.cellId, sql.placeholder('cellId')))),
)

/** Adds the mappings of new servers. */
export function queueMappings(tx: Tx, rows: readonly NewMapping[]): void {
  INSERT.queue(tx, rows)
}

/** Undefined once the server is gone. */
export async function findMapping(
  db: Executor,
  server: string,
): Promise<InstanceMapping | undefined> {
  const [row] = await db.rows<MappingRow>(FIND, { serverId: server })
  return row === undefined ? undefined : mappingOf(row)
}

/** Like `findMapping`; locks the row until the transaction ends. */
export async function lockMapping(tx: Tx, server: string): Promise<InstanceMapping | undefined> {
  const [row] = await tx.rows<MappingRow>(LOCK, { serverId: server })
  return row === undefined ? undefined : mappingOf(row)
}

export interface Reassignment {
  readonly serverId: InstanceId
  /** As it was; the new one is greater by one. */
  readonly attempt: number
  /** Who owns the server; null when no saga does. */
  readonly sagaId: SagaId | null
  /** The next cell; null: none is left, and the server is in no cell. */
  readonly cellId: CellId | null
  readonly triedCells: readonly CellId[]
  /** Who owns it from now on. */
  readonly nextSagaId: SagaId | null
}

/** False, and nothing changed, when the server is being deleted, is owned by another, or was pointed elsewhere. */
export async function reassignMapping(tx: Tx, to: Reassignment): Promise<boolean> {
  const triedCells = JSON.stringify(to.triedCells)
  return (await tx.run(REASSIGN, { ...to, triedCells })).affectedRows === 1
}

/** Makes the saga the server's only owner. False when it has an owner, is being deleted, or does not exist. */
export async function takeServer(
  tx: Tx,
  server: string,
  attempt: number,
  saga: SagaId,
): Promise<boolean> {
  return (await tx.run(TAKE, { serverId: server, attempt, sagaId: saga })).affectedRows === 1
}

/** The same for a transaction that fails with `otherwise` where it is false. */
export function queueTakeServer(
  tx: Tx,
  taken: { readonly serverId: string; readonly attempt: number; readonly sagaId: SagaId },
  otherwise: () => Error,
): void {
  tx.queue(TAKE, taken, { rows: 1, otherwise })
}

/** Ends the saga's ownership, if it still has it. */
export function queueServerRelease(tx: Tx, server: string, saga: SagaId): void {
  tx.queue(RELEASE, { serverId: server, sagaId: saga })
}

/** From now on no cell may be given the server, and every other saga finds that it has lost it. */
export function queueMarkDeleting(tx: Tx, server: string, saga: SagaId): void {
  tx.queue(MARK_DELETING, { serverId: server, sagaId: saga })
}

/** The same where the server is in this cell at this attempt; else the transaction fails with `otherwise`. */
export function queueMappingDeleting(
  tx: Tx,
  at: Pick<Reassignment, 'serverId' | 'attempt'> & {
    readonly cellId: CellId
    readonly sagaId: SagaId
  },
  otherwise: () => Error,
): void {
  tx.queue(MARK_SEEN_DELETING, at, { rows: 1, otherwise })
}

const CHARGE = statement(
  builder
    .update(instanceMappings)
    .set({
      cores: sql`${sql.placeholder('cores')}`,
      ramMb: sql`${sql.placeholder('ramMb')}`,
      isResizing: sql`${sql.placeholder('isResizing')}`,
    })
    .where(isServer),
)

/** Notes what the server's project is charged for it; the ledger is changed beside it. */
export async function setCharge(
  tx: Tx,
  server: string,
  charge: Pick<InstanceMapping, 'cores' | 'ramMb' | 'isResizing'>,
): Promise<void> {
  await tx.run(CHARGE, { serverId: server, ...charge })
}

export interface MappingRow {
  readonly server_id: InstanceId
  readonly project_id: string
  readonly cores: number
  readonly ram_mb: number
  readonly is_resizing: number
  readonly is_charged: number
  readonly cell_id: CellId | null
  readonly attempt: number
  readonly tried_cells: readonly CellId[]
  readonly is_deleting: number
  readonly saga_id: SagaId | null
  readonly is_not_built: number
  readonly not_built_reason: string | null
}

export function mappingOf(row: MappingRow): InstanceMapping {
  return {
    serverId: row.server_id,
    projectId: row.project_id,
    cores: row.cores,
    ramMb: row.ram_mb,
    isResizing: Boolean(row.is_resizing),
    isCharged: Boolean(row.is_charged),
    cellId: row.cell_id,
    attempt: row.attempt,
    triedCells: row.tried_cells,
    isDeleting: Boolean(row.is_deleting),
    sagaId: row.saga_id,
    isNotBuilt: Boolean(row.is_not_built),
    notBuiltReason: row.not_built_reason,
  }
}

/** How many of the servers are in a cell, or on their way to one. */
export async function serversInCells(tx: Tx, servers: readonly string[]): Promise<number> {
  if (servers.length === 0) return 0
  return tx.orm.$count(
    instanceMappings,
    and(inArray(instanceMappings.serverId, [...servers]), isNotNull(instanceMappings.cellId)),
  )
}

/** The cells that have any of these servers. */
export async function cellsOfServers(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (serverIds.length === 0) return new Set()
  const rows = await db.orm
    .selectDistinct({ cellId: instanceMappings.cellId })
    .from(instanceMappings)
    .where(
      and(
        inArray(instanceMappings.serverId, serverIds as InstanceId[]),
        isNotNull(instanceMappings.cellId),
      ),
    )
  return new Set(rows.flatMap(({ cellId }) => cellId ?? []))
}
