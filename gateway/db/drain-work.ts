import { and, eq, isNull, not, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { DrainedServer, DrainMove } from '../app/operations/drain-plan.ts'
import { BY_STATE, IS_OPEN, moveOf } from './drain-moves.ts'
import type { HostRecord } from './host-list.ts'
import { drainMoves } from './schema/operations.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'
import { SERVER_MOVE } from './server-moves.ts'

/** A server of a drain, with the name that its user gave it. */
export interface NamedServer extends DrainedServer {
  readonly name: string
}

/** What a round of a drain has to do with. */
export interface DrainWork {
  readonly moves: readonly DrainMove[]
  /** On the host, or on their way from there. */
  readonly servers: readonly NamedServer[]
}

/**
 * The moves of the drain that have not ended, with their servers, and servers of the host about which it has done nothing
 * yet, at most `max`. Once there are fewer of those, also ended moves whose servers are on the host again. A round reads
 * no more than that: a host may have thousands of servers, and most wait, or have moved, while some move.
 */
export async function drainWork(
  db: Executor,
  operationId: string,
  { view }: Pick<HostRecord, 'view'>,
  max: number,
): Promise<DrainWork> {
  // By its name, of which there is an index; hosts of other cells may have the same one.
  const isHere = and(eq(serverIndex.host, view.name), eq(serverIndex.hostId, view.hostId))
  const isOfDrain = eq(drainMoves.operationId, operationId)
  const open = await movesWithServers(db, and(isOfDrain, IS_OPEN), BY_STATE)
  const fresh = await freshServers(db, operationId, isHere, max)
  const isBack = and(isOfDrain, not(IS_OPEN), isHere)
  const known = [...open, ...(fresh.length < max ? await movesWithServers(db, isBack) : [])]
  const seen = known.flatMap(({ move, server }) => {
    const isInDrain = move.state !== 'waiting' || server?.hostId === view.hostId
    return server !== undefined && isInDrain ? [server] : []
  })
  return {
    moves: known.map(({ move }) => move),
    servers: [...seen, ...fresh].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

const { serverId: id, name, vmState, hostId, taskState, intent, isDeleting } = serverIndex
const SERVER = {
  ...{ id, name, vmState, hostId },
  isBusy: sql<number>`${taskState} is not null or ${intent} is not null or ${isDeleting}
    or ${instanceMappings.sagaId} is not null or exists (select 1 from operations o
      where o.slot = concat(${`${SERVER_MOVE} `}, ${id}))`,
}
const IS_MAPPED = eq(instanceMappings.serverId, id)

interface ServerRow {
  readonly id: string
  readonly name: string
  readonly vmState: string
  readonly hostId: string | null
  readonly isBusy: number
}

function serverOf(row: ServerRow): NamedServer {
  return { ...row, vmState: row.vmState as VmState, isBusy: row.isBusy === 1 }
}

/** Those about which the operation has done nothing yet. */
async function freshServers(
  db: Executor,
  operationId: string,
  which: SQL | undefined,
  max: number,
): Promise<readonly NamedServer[]> {
  const rows = await db.orm
    .select(SERVER)
    .from(serverIndex)
    .innerJoin(instanceMappings, IS_MAPPED)
    .leftJoin(drainMoves, and(eq(drainMoves.operationId, operationId), eq(drainMoves.serverId, id)))
    .where(and(which, isNull(serverIndex.deletedAt), isNull(drainMoves.serverId)))
    .orderBy(id)
    .limit(max)
  return rows.map(serverOf)
}

/** Each with its server, unless that is gone. */
async function movesWithServers(
  db: Executor,
  which: SQL | undefined,
  hint?: typeof BY_STATE,
): Promise<readonly { readonly move: DrainMove; readonly server: NamedServer | undefined }[]> {
  const isThere = and(eq(id, drainMoves.serverId), isNull(serverIndex.deletedAt))
  const rows = await db.orm
    .select({ move: drainMoves, server: SERVER, mapped: instanceMappings.serverId })
    .from(drainMoves, hint)
    .leftJoin(serverIndex, isThere)
    .leftJoin(instanceMappings, IS_MAPPED)
    .where(which)
    .orderBy(drainMoves.serverId)
  return rows.map(({ move, server, mapped }) => ({
    move: moveOf(move),
    server: server?.id == null || mapped === null ? undefined : serverOf(server as ServerRow),
  }))
}
