import { and, asc, desc, eq, gt, gte, inArray, lte, type SQL, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import {
  type EventDetails,
  type EventType,
  queueTakeEvents,
  type WaitingEvent,
  waitingEvents,
} from './event-inbox.ts'
import { inSlices } from './keyset.ts'
import { cellMappings } from './schema/cells.ts'
import { eventState, events } from './schema/events.ts'
import { serverIndex } from './schema/servers.ts'
import { volumes } from './schema/volumes.ts'

/** An event as it is kept. */
export interface KeptEvent extends Omit<WaitingEvent, 'id' | 'details'> {
  readonly n: number
  readonly details: EventDetails
  /** Null for a server whose record was purged, and for an event without a server. */
  readonly serverName: string | null
  /** For a volume that is gone, its former name; null for an event without a volume. */
  readonly volumeName: string | null
  /** For a cell that has left, its former name; null for an event without a cell. */
  readonly cellName: string | null
}

/** Up to which number events were given, and were purged. */
export interface EventState {
  readonly last: number
  readonly removed: number
}

export interface EventFilter {
  readonly projectId?: string | undefined
  readonly serverId?: string | undefined
  readonly volumeId?: string | undefined
  readonly cellId?: string | undefined
  readonly types?: readonly EventType[] | undefined
  /** The name of a host. */
  readonly host?: string | undefined
  readonly requestId?: string | undefined
  /** From this time on. */
  readonly since?: Date | undefined
}

const STATE_ID = 1
const p = sql.placeholder

const STATE = statement(
  builder
    .select({ last: eventState.last, removed: eventState.removed })
    .from(eventState)
    .where(eq(eventState.id, STATE_ID)),
)
const ADVANCE = statement(
  builder
    .update(eventState)
    .set({ last: sql`${p('to')}` })
    .where(and(eq(eventState.id, STATE_ID), eq(eventState.last, p('from')))),
)
const INSERT = rowsInsert(events, [
  'n',
  'type',
  'at',
  'projectId',
  'serverId',
  'volumeId',
  'cellId',
  'details',
])
const OLDEST = statement(
  builder
    .select({ n: events.n, at: events.at })
    .from(events)
    .orderBy(asc(events.n))
    .limit(p('max')),
)
const REMOVE = statement(builder.delete(events).where(lte(events.n, p('upTo'))))
const SET_REMOVED = statement(
  builder
    .update(eventState)
    .set({ removed: sql`greatest(removed, ${p('upTo')})` })
    .where(eq(eventState.id, STATE_ID)),
)

/** Afterwards events can be numbered; the first gateway that starts does this. */
export async function beginEvents(db: Executor): Promise<void> {
  await db.orm
    .insert(eventState)
    .values({ id: STATE_ID, last: 0, removed: 0 })
    .onDuplicateKeyUpdate({ set: { id: STATE_ID } })
}

export async function readEventState(db: Executor): Promise<EventState> {
  const [state] = await db.rows<EventState>(STATE, {})
  return state === undefined
    ? { last: 0, removed: 0 }
    : { last: Number(state.last), removed: Number(state.removed) }
}

/**
 * Numbers at most `max` events whose transactions have committed; events of open transactions get later numbers.
 * Returns how many. Throws `conflict`, and numbers none, when another process does the same: so there are neither
 * holes nor repetitions, and a reader that has read up to a number has missed no event before it.
 */
export async function numberEvents(db: Transactional, max: number): Promise<number> {
  const otherwise = () => new Failure('conflict', 'Another process numbers events.')
  return db.transaction(async (tx) => {
    const waiting = await waitingEvents(tx, max)
    if (waiting.length === 0) return 0
    const { last } = await readEventState(tx)
    tx.queue(ADVANCE, { from: last, to: last + waiting.length }, { rows: 1, otherwise })
    INSERT.queue(
      tx,
      waiting.map((event, index) => ({ ...event, n: last + index + 1 })),
    )
    queueTakeEvents(tx, waiting, otherwise)
    return waiting.length
  })
}

/** Events after a number, the oldest first. */
export async function eventsAfter(
  db: Executor,
  after: number,
  filter: EventFilter,
  max: number,
): Promise<readonly KeptEvent[]> {
  const kept = await inSlices<KeptEvent>(max, async (limit, last) => {
    const rows = await named(db)
      .where(and(gt(events.n, last?.n ?? after), conditionOf(filter)))
      .orderBy(asc(events.n))
      .limit(limit)
    return rows.map(recorded)
  })
  return withLeftCells(db, kept)
}

/** The newest events up to a number, the oldest of them first. */
export async function eventsUpTo(
  db: Executor,
  last: number,
  filter: EventFilter,
  max: number,
): Promise<readonly KeptEvent[]> {
  const newest = await inSlices<KeptEvent>(max, async (limit, before) => {
    const upTo = before === undefined ? last : before.n - 1
    const rows = await named(db)
      .where(and(lte(events.n, upTo), conditionOf(filter)))
      .orderBy(desc(events.n))
      .limit(limit)
    return rows.map(recorded)
  })
  return withLeftCells(db, newest.toReversed())
}

/** Removes at most `rows` events older than a time, the oldest first, and returns how many. */
export async function purgeEvents(
  db: Transactional,
  olderThan: Date,
  rows: number,
): Promise<number> {
  const oldest = await db.rows<{ n: number; at: Date }>(OLDEST, { max: BigInt(rows) })
  const kept = oldest.findIndex(({ at }) => at >= olderThan)
  const upTo = oldest.slice(0, kept === -1 ? oldest.length : kept).at(-1)?.n
  if (upTo === undefined) return 0
  return db.transaction(async (tx) => {
    await tx.run(SET_REMOVED, { upTo })
    return (await tx.run(REMOVE, { upTo })).affectedRows
  })
}

/** Events with the names of what they are about. */
function named(db: Executor) {
  return db.orm
    .select({
      event: events,
      serverName: serverIndex.name,
      volumeName: volumes.name,
      cellName: cellMappings.name,
    })
    .from(events)
    .leftJoin(volumes, eq(volumes.id, events.volumeId))
    .leftJoin(serverIndex, eq(serverIndex.serverId, events.serverId))
    .leftJoin(cellMappings, eq(cellMappings.id, events.cellId))
}

/** The same, with the names that cells which have left were last known by. */
async function withLeftCells(
  db: Executor,
  kept: readonly KeptEvent[],
): Promise<readonly KeptEvent[]> {
  const unnamed = kept.flatMap(({ cellId, cellName }) => (cellName === null && cellId) || [])
  const names = new Map<string, string | null>()
  for (const id of new Set(unnamed)) names.set(id, await nameOfLeft(db, id))
  return kept.map((event) => ({
    ...event,
    cellName: event.cellName ?? names.get(event.cellId ?? '') ?? null,
  }))
}

/** Its leaving is the last event about the cell itself. */
async function nameOfLeft(db: Executor, cellId: string): Promise<string | null> {
  const [row] = await db.orm
    .select({ details: events.details })
    .from(events)
    .where(and(eq(events.cellId, cellId), eq(events.type, 'cell.state')))
    .orderBy(desc(events.n))
    .limit(1)
  return row === undefined ? null : ((JSON.parse(row.details) as EventDetails).cellName ?? null)
}

function conditionOf(filter: EventFilter): SQL | undefined {
  const { projectId, serverId, volumeId, cellId, types, host, requestId, since } = filter
  return and(
    projectId === undefined ? undefined : eq(events.projectId, projectId),
    serverId === undefined ? undefined : eq(events.serverId, serverId),
    volumeId === undefined ? undefined : eq(events.volumeId, volumeId),
    cellId === undefined ? undefined : eq(events.cellId, cellId),
    types === undefined ? undefined : inArray(events.type, [...types]),
    host === undefined ? undefined : detail('host', host),
    requestId === undefined ? undefined : detail('requestId', requestId),
    since === undefined ? undefined : gte(events.at, since),
  )
}

function detail(name: keyof EventDetails, value: string): SQL {
  return sql`json_value(${events.details}, ${`$.${name}`}) = ${value}`
}

interface NamedEvent {
  readonly event: typeof events.$inferSelect
  readonly serverName: string | null
  readonly volumeName: string | null
  readonly cellName: string | null
}

function recorded({ event: { type, details: text, ...row }, ...names }: NamedEvent): KeptEvent {
  const details = JSON.parse(text) as EventDetails
  const volumeName = names.volumeName ?? details.volumeName ?? null
  return { ...row, ...names, volumeName, type: type as EventType, details }
}
