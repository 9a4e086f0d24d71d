import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { NewServer } from '../app/servers/boot/new-server.ts'
import { queueEvents } from './event-inbox.ts'
import { serverIndex } from './schema/servers.ts'
import {
  ascii,
  BY_KEY,
  boundAttempts,
  SERVER_ATTEMPTS,
  type ServerAttempt,
} from './server-attempts.ts'

const now = sql`now(3)`

const INSERT = rowsInsert(
  serverIndex,
  [
    'serverId',
    'projectId',
    'userId',
    'cellId',
    'attempt',
    'name',
    'hostname',
    'description',
    'metadata',
    'tags',
    'flavorId',
    'flavor',
    'imageId',
    'keyName',
    'configDrive',
    'addresses',
    'securityGroups',
    'reservationId',
    'launchIndex',
    'diskConfig',
    'requestedZone',
    'accessIPv4',
    'accessIPv6',
    'vmState',
    'taskState',
    'fault',
    'requested',
  ],
  {
    fixed: {
      version: sql`0`,
      powerState: sql`0`,
      room: sql`space(224)`,
      createdAt: now,
      updatedAt: now,
    },
  },
)

const isServer = eq(serverIndex.serverId, sql.placeholder('serverId'))
const isThere = isNull(serverIndex.deletedAt)

const REASSIGN = statement(
  builder
    .update(serverIndex)
    .set({
      cellId: sql`${sql.placeholder('cellId')}`,
      attempt: sql`${sql.placeholder('attempt')}`,
      version: 0,
      vmState: sql`${sql.placeholder('vmState')}`,
      taskState: sql`${sql.placeholder('taskState')}`,
      fault: sql`${sql.placeholder('fault')}`,
      powerState: 0,
      hostId: null,
      host: null,
      hypervisorHostname: null,
      instanceName: null,
      zone: null,
      numa: null,
      held: null,
      updatedAt: now,
    })
    .where(and(isServer, isThere)),
)

const MARK_DELETING = statement(
  builder
    .update(serverIndex)
    .set({ isDeleting: true, updatedAt: now })
    .where(and(isServer, isThere)),
  { keys: ['serverId'] },
)

interface Said {
  /** As a view names it. */
  readonly name: keyof typeof serverIndex.$inferInsert
  readonly type: SQL
  /** Where a view has it; absent: below its name. */
  readonly path?: string
  readonly written?: (value: SQL) => SQL
}

const fromMs = (value: SQL) => sql`from_unixtime(${value} / 1000)`

/** The properties in a cell's report of a server. Flavor and image are only in reports that change them. */
const SAID: readonly Said[] = [
  { name: 'version', type: sql`int` },
  { name: 'vmState', type: ascii(20) },
  { name: 'taskState', type: ascii(32) },
  { name: 'powerState', type: sql`int` },
  { name: 'hostId', type: ascii(36) },
  { name: 'host', type: ascii(64) },
  { name: 'hypervisorHostname', type: ascii(64) },
  { name: 'instanceName', type: ascii(64) },
  { name: 'zone', type: sql`varchar(255)` },
  { name: 'numa', type: sql`json` },
  { name: 'held', type: sql`json` },
  { name: 'fault', type: sql`json` },
  {
    name: 'flavorId',
    type: sql`varchar(255)`,
    path: '$.flavor.id',
    written: orAsBefore('flavor_id'),
  },
  { name: 'flavor', type: sql`json`, written: orAsBefore('flavor') },
  { name: 'imageId', type: ascii(36), written: orAsBefore('image_id') },
  { name: 'launchedAt', type: sql`bigint`, written: fromMs },
  { name: 'terminatedAt', type: sql`bigint`, written: fromMs },
]

function orAsBefore(column: string): (value: SQL) => SQL {
  return (value) => sql`coalesce(${value}, s.${sql.identifier(column)})`
}

const columnOf = ({ name }: Said) => sql.identifier(serverIndex[name].name)
const assignments = (saidOf: (each: Said) => SQL) =>
  sql.join(
    SAID.map((each) => {
      const { written = (value) => value } = each
      return sql`s.${columnOf(each)} = ${written(saidOf(each))}`
    }),
    sql`, `,
  )
const ALSO = sql`s.updated_at = now(3), s.missing_since = null, s.room = null`

/**
 * Any number of views in one statement. The rows' order in the plan is the array's, so that every writer locks in
 * the same order. `cellId` is the sender's: a cell speaks only of servers it has been given, at their attempt.
 */
const APPLY = sqlStatement(sql`
  update json_table(${sql.placeholder('views')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId',
    attempt int path '$.attempt',
    ${sql.join(
      SAID.map((each) => {
        const { name, type, path = `$.${name}` } = each
        return sql`${columnOf(each)} ${type} path ${sql.raw(`'${path}'`)}`
      }),
      sql`, `,
    )}
  )) v straight_join server_index s${BY_KEY} on s.server_id = v.server_id
  set ${assignments((each) => sql`v.${columnOf(each)}`)}, ${ALSO}
  where s.cell_id = ${sql.placeholder('cellId')} and s.attempt = v.attempt
    and s.deleted_at is null
    and (s.version < v.version or (${sql.placeholder('isResync')} and (s.version <> v.version
      or s.vm_state <> v.vm_state or not s.task_state <=> v.task_state
      or s.power_state <> v.power_state or not s.host <=> v.host)))`)

/** The same for one view, as every reply of a cell brings it: a table made of JSON costs several times the update. */
const APPLY_ONE = sqlStatement(sql`
  update server_index s set ${assignments(({ name }) => sql`${sql.placeholder(name)}`)}, ${ALSO}
  where s.server_id = ${sql.placeholder('serverId')} and s.deleted_at is null
    and s.cell_id = ${sql.placeholder('cellId')} and s.attempt = ${sql.placeholder('attempt')}
    and s.version < ${sql.placeholder('version')}`)

const MARK_DELETED = sqlStatement(sql`
  update ${SERVER_ATTEMPTS} straight_join server_index s${BY_KEY} on s.server_id = v.server_id
  set s.vm_state = 'deleted', s.task_state = null, s.power_state = 0, s.deleted_at = now(3),
    s.terminated_at = coalesce(s.terminated_at, now(3)), s.updated_at = now(3)
  where s.deleted_at is null`)

const OWN = sqlStatement(sql`
  select s.server_id, s.attempt from ${SERVER_ATTEMPTS}
  straight_join server_index s${BY_KEY} on s.server_id = v.server_id
  where s.cell_id = ${sql.placeholder('cellId')}`)

/** Adds the index rows of new servers before any cell has reported them. */
export function queueServers(tx: Tx, servers: readonly NewServer[]): void {
  INSERT.queue(
    tx,
    servers.map((server) => ({
      ...server,
      serverId: server.id,
      flavorId: server.flavor.id,
    })),
  )
}

export interface ReassignedView {
  readonly serverId: string
  readonly cellId: CellId | null
  readonly attempt: number
  readonly vmState: 'building' | 'error'
  readonly taskState: 'scheduling' | null
  /** Null: none. */
  readonly fault: InstanceView['fault']
}

/** Shows the server as pointed at another cell, or at none, with an event; the earlier cell's view is dropped. */
export function queueIndexReassignment(tx: Tx, to: ReassignedView): void {
  const { serverId, vmState: state, taskState, fault } = to
  tx.queue(REASSIGN, { ...to, fault: fault === null ? null : JSON.stringify(fault) })
  const details = { state, taskState, message: fault?.message ?? null }
  queueEvents(tx, [{ type: 'server.state', serverId, details }])
}

/** Shows the server as being deleted, until it is gone. */
export function queueIndexedDeleting(tx: Tx, serverId: string): void {
  tx.queue(MARK_DELETING, { serverId })
}

/**
 * Applies views from `cellId` that are newer than the known ones; others change nothing. At most one per server.
 * `resync`: also older ones, after the cell's database was restored from a copy.
 */
export function queueViews(
  tx: Tx,
  cellId: CellId,
  views: readonly InstanceView[],
  mode: 'newer' | 'resync' = 'newer',
): void {
  const [first] = views
  if (first === undefined) return
  if (views.length === 1 && mode === 'newer') {
    const { fault, flavor, imageId = null, numa, held } = first
    tx.queue(APPLY_ONE, {
      ...first,
      cellId,
      numa: numa === undefined ? null : JSON.stringify(numa),
      held: held === undefined ? null : JSON.stringify(held),
      fault: fault === null ? null : JSON.stringify(fault),
      flavorId: flavor?.id ?? null,
      flavor: flavor === undefined ? null : JSON.stringify(flavor),
      imageId,
    })
    return
  }
  const ordered = views.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
  tx.queue(APPLY, { views: JSON.stringify(ordered), cellId, isResync: mode === 'resync' })
}

/** Shows servers as deleted; their rows stay for the retention time. */
export function queueIndexedDeleted(tx: Tx, servers: readonly ServerAttempt[]): void {
  tx.queue(MARK_DELETED, { servers: boundAttempts(servers) })
}

/** Those of the servers that are, or last were, in the cell: server -> attempt. */
export async function ownServers(
  db: Executor,
  cellId: CellId,
  serverIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  if (serverIds.size === 0) return new Map()
  const servers = JSON.stringify([...serverIds].map((serverId) => ({ serverId })))
  const rows = await db.rows<{ server_id: string; attempt: number }>(OWN, { cellId, servers })
  return new Map(rows.map((row) => [row.server_id, row.attempt]))
}
