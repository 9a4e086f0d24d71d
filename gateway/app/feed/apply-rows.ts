import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { ActionEvent, FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import { queueFloatingIpStatus } from '../../db/floating-ips.ts'
import { queueGuestPasswords } from '../../db/guest-passwords.ts'
import { queueCrashes } from '../../db/guest-restarts.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import { queueNotBuilt } from '../../db/mapping-batches.ts'
import { queuePasswordErasure } from '../../db/request-specs.ts'
import { queueActionEvents, queueActions, type ServerAction } from '../../db/server-actions.ts'
import { ownServers, queueViews } from '../../db/server-index.ts'
import { queueMigrations } from '../../db/server-migrations.ts'
import { queueDataPlaneStatus } from '../../db/server-ports.ts'
import { queueTraces } from '../../db/traces.ts'
import type { ComputeDeps } from '../compute.ts'
import { recordDeleted } from '../servers/acts/record-deleted.ts'
import { applyVolumeSnapshots } from './apply-volume-snapshots.ts'
import { applyVolumes } from './apply-volumes.ts'
import { stateEvent } from './state-event.ts'

type Body<K extends FeedBody['kind']> = Extract<FeedBody, { kind: K }>

/** The newest row of a batch for each object; the others do not matter. */
interface Batch {
  readonly views: readonly InstanceView[]
  readonly hosts: readonly HostView[]
  readonly deleted: readonly Body<'deleted'>[]
  readonly notBuilt: readonly Body<'not-built'>[]
  readonly traces: readonly Body<'trace'>[]
  readonly events: readonly ActionEvent[]
  readonly migrations: readonly MigrationView[]
  readonly ports: readonly Body<'port'>[]
  readonly passwords: readonly Body<'guest-password'>[]
  readonly floatingIps: readonly Body<'floating-ip'>[]
}

/** True when servers were given up, so that somebody should see to them. */
export interface Applied {
  readonly hasNotBuilt: boolean
}

/**
 * Applies changes of one cell. A row about a server that was not given to this cell, or not at the row's attempt, and
 * a row older than the known one, change nothing: so rows may come late, twice, in any order, or be forged.
 */
export async function applyRows(
  tx: Tx,
  deps: Pick<ComputeDeps, 'network'>,
  cell: CellId,
  rows: readonly FeedRow[],
): Promise<Applied> {
  const batch = newest(rows)
  const own = await ownServers(tx, cell, spokenOf(batch))
  await recordDeleted(tx, deps, cell, batch.deleted)
  queueNotBuilt(tx, cell, batch.notBuilt)
  queueCrashes(tx, cell, batch.views.filter(hasCrashed))
  queueViews(tx, cell, batch.views)
  // The guest has run, so its first password has reached it.
  const launched = batch.views.filter((view) => view.launchedAt !== null)
  queuePasswordErasure(tx, cell, launched)
  await deps.network.bind(tx, cell, launched)
  queueDataPlaneStatus(tx, cell, batch.ports)
  queueGuestPasswords(tx, cell, batch.passwords)
  queueFloatingIpStatus(tx, cell, batch.floatingIps)
  await applyHistory(tx, cell, batch, own)
  await applyHostViews(tx, cell, batch.hosts)
  await applyVolumes(tx, cell, rows)
  await applyVolumeSnapshots(tx, cell, rows)
  return { hasNotBuilt: batch.notBuilt.length > 0 }
}

/** A server that its user has stopped, or whose guest has shut itself down, is off in another power state. */
function hasCrashed({ vmState, powerState }: InstanceView): boolean {
  return vmState === 'stopped' && powerState === POWER_STATES.crashed
}

function spokenOf({ views, traces, events, migrations }: Batch): ReadonlySet<string> {
  return new Set([...views, ...traces, ...events, ...migrations].map((each) => each.serverId))
}

/** A log line's fields for each piece of work on a server that ended, by these rows. */
export function endedWork(rows: readonly FeedRow[]): readonly Readonly<Record<string, unknown>>[] {
  return newest(rows)
    .events.filter(({ result }) => result !== null)
    .map(({ serverId, requestId, traceId, event, result, host, details }) => {
      const trace = traceId !== undefined && { trace_id: traceId }
      const about = { server_id: serverId, request_id: requestId, ...trace, work: event, host }
      return { ...about, result, ...(details !== null && { error: details }) }
    })
}

/** Makes records of the actions that the cell began of its own accord: no request was here that could have made one. */
async function recordOwnActions(tx: Tx, events: readonly ActionEvent[]): Promise<void> {
  const begun = events.filter(({ action }) => action !== undefined)
  if (begun.length === 0) return
  const actions: ServerAction[] = []
  for (const { serverId, requestId, action, result } of begun) {
    const mapping = await findMapping(tx, serverId)
    if (mapping === undefined) continue
    const message = result === 'Error' ? 'Error' : null
    const { projectId } = mapping
    actions.push({ serverId, requestId, action: action!, projectId, userId: null, message })
  }
  queueActions(tx, actions)
}

/** `own`: the servers that are in the cell, at their attempts. */
async function applyHistory(
  tx: Tx,
  cell: CellId,
  { views, traces, events, migrations }: Batch,
  own: ReadonlyMap<string, number>,
): Promise<void> {
  queueEvents(
    tx,
    views.filter(({ serverId, attempt }) => own.get(serverId) === attempt).map(stateEvent),
  )
  queueTraces(
    tx,
    traces.filter(({ serverId, attempt, trace }) => {
      return own.get(serverId) === attempt && trace.level === 'hosts'
    }),
  )
  const ownEvents = events.filter(({ serverId }) => own.has(serverId))
  await recordOwnActions(tx, ownEvents)
  queueActionEvents(tx, cell, ownEvents)
  queueMigrations(
    tx,
    cell,
    migrations.filter(({ serverId }) => own.has(serverId)),
  )
}

function newest(rows: readonly FeedRow[]): Batch {
  const bodies = <K extends FeedBody['kind']>(kind: K) =>
    rows.map(({ body }) => body).filter((body): body is Body<K> => body.kind === kind)
  const views = bodies('instance').map(({ view }) => view)
  const events = bodies('action-event').map(({ event }) => event)
  return {
    views: last(views.toSorted(byVersion), ({ serverId }) => serverId),
    hosts: last(
      bodies('host')
        .map(({ view }) => view)
        .toSorted((a, b) => a.version - b.version),
      ({ hostId }) => hostId,
    ),
    deleted: last(bodies('deleted'), ({ serverId, attempt }) => `${serverId} ${attempt}`),
    notBuilt: last(bodies('not-built'), ({ serverId, attempt }) => `${serverId} ${attempt}`),
    migrations: last(
      bodies('migration')
        .map(({ view }) => view)
        .toSorted((a, b) => a.version - b.version),
      ({ id }) => id,
    ),
    ports: last(bodies('port'), ({ portId }) => portId),
    passwords: last(bodies('guest-password'), ({ serverId }) => serverId),
    floatingIps: last(bodies('floating-ip'), ({ id }) => id),
    traces: last(bodies('trace'), ({ serverId, attempt, trace }) => {
      return `${serverId} ${attempt} ${trace.level} ${trace.at}`
    }),
    events: last(events, ({ serverId, requestId, event, startedAt }) => {
      return `${serverId} ${requestId} ${event} ${startedAt}`
    }),
  }
}

function byVersion(a: InstanceView, b: InstanceView): number {
  return a.attempt - b.attempt || a.version - b.version
}

/** Of the items with the same key, the last. */
function last<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}
