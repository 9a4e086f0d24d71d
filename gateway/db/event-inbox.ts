import { asc, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { eventInbox } from './schema/events.ts'
import { serverIndex } from './schema/servers.ts'

export const EVENT_TYPES = [
  'server.action',
  'server.step',
  'server.state',
  'server.deleted',
  'volume.state',
  'volume.deleted',
  'snapshot.state',
  'snapshot.deleted',
  'host.state',
  'cell.state',
  'operation.state',
  'quota.repaired',
  'flavor.changed',
  'keypair.changed',
  'aggregate.changed',
  'server-group.changed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** The details of an event besides its subject; absent ones do not apply. */
export interface EventDetails {
  readonly host?: string | null
  readonly requestId?: string
  readonly userId?: string | null
  readonly action?: string
  readonly result?: 'success' | 'error'
  readonly state?: string
  readonly taskState?: string | null
  readonly powerState?: string
  readonly message?: string | null
  /** Of a cell that has left: nothing else keeps its name. */
  readonly cellName?: string
  /** Of a volume that is gone: nothing else keeps its name. */
  readonly volumeName?: string | null
  /** Of a snapshot, whose event has the id of its volume. */
  readonly snapshotId?: string
  /** Of a volume that a server is to have, or to have no more, or that changes cells. */
  readonly volumeId?: string
  /** Of the image that a server's disk is to be saved as. */
  readonly imageId?: string
  /** A flavor, keypair, aggregate or server group, as Nova's notifications show it. */
  readonly resource?: Readonly<Record<string, unknown>>
  /** Why a volume or a snapshot is in error, for operators. */
  readonly fault?: string | null
}

export interface NewEvent {
  readonly type: EventType
  readonly serverId?: string
  /** Absent: that of the server. */
  readonly cellId?: string | null
  readonly details: EventDetails
}

/** An event without a number yet, with the details that its server's row adds. */
export interface WaitingEvent {
  readonly id: number
  readonly type: EventType
  readonly at: Date
  readonly projectId: string | null
  readonly serverId: string | null
  readonly volumeId: string | null
  readonly cellId: string | null
  readonly details: string
}

const INSERT = rowsInsert(eventInbox, ['type', 'serverId', 'cellId', 'details'], {
  fixed: { at: sql`now(3)` },
})

const INSERT_OF_GROUP = sqlStatement(sql`
  insert into event_inbox (type, details, at)
  values (${sql.placeholder('type')}, json_merge_patch(${sql.placeholder('details')}, concat('{"resource":{"members":',
    (select coalesce(json_arrayagg(server_id), '[]') from server_group_members where group_id = ${sql.placeholder('groupId')}),
    '}}')), now(3))`)

const WAITING = statement(
  builder
    .select({
      id: eventInbox.id,
      type: eventInbox.type,
      at: eventInbox.at,
      project_id: sql`coalesce(${eventInbox.projectId}, ${serverIndex.projectId})`.as('project_id'),
      server_id: eventInbox.serverId,
      volume_id: eventInbox.volumeId,
      cell_id: sql`coalesce(${eventInbox.cellId}, ${serverIndex.cellId})`.as('cell_id'),
      details: eventInbox.details,
    })
    .from(eventInbox)
    .leftJoin(serverIndex, eq(serverIndex.serverId, eventInbox.serverId))
    .orderBy(asc(eventInbox.id))
    .limit(sql.placeholder('max')),
)

const TAKE = sqlStatement(sql`
  delete i from json_table(${sql.placeholder('ids')}, '$[*]' columns (id bigint path '$')) v
  straight_join event_inbox i on i.id = v.id`)

/** Queues the events of a transaction, which are published once it has committed. */
export function queueEvents(tx: Tx, added: readonly NewEvent[]): void {
  INSERT.queue(
    tx,
    added.map(({ type, serverId = null, cellId = null, details }) => ({
      type,
      serverId,
      cellId,
      details: JSON.stringify(details),
    })),
  )
}

/** Queues an event of a server group, whose resource gets the members that the group has by then. */
export function queueGroupEvent(
  tx: Tx,
  groupId: string,
  { type, details }: { readonly type: EventType; readonly details: EventDetails },
): void {
  tx.queue(INSERT_OF_GROUP, { type, groupId, details: JSON.stringify(details) })
}

/** The oldest events without a number whose transactions have committed. */
export async function waitingEvents(tx: Tx, max: number): Promise<readonly WaitingEvent[]> {
  const rows = await tx.rows<{
    id: number
    type: EventType
    at: Date
    project_id: string | null
    server_id: string | null
    volume_id: string | null
    cell_id: string | null
    details: string
  }>(WAITING, { max: BigInt(max) })
  return rows.map(({ project_id, server_id, volume_id, cell_id, ...row }) => {
    const about = { projectId: project_id, serverId: server_id, volumeId: volume_id }
    return { ...row, ...about, cellId: cell_id }
  })
}

/** Afterwards they wait no more. Fails the transaction where another has taken one of them. */
export function queueTakeEvents(
  tx: Tx,
  taken: readonly WaitingEvent[],
  otherwise: () => Error,
): void {
  const ids = JSON.stringify(taken.map(({ id }) => id))
  tx.queue(TAKE, { ids }, { rows: taken.length, otherwise })
}
