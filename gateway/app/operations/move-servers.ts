import type { Executor, Transactional } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import { changeMove, failureOf, openMoves } from '../../db/drain-moves.ts'
import { drainWork, type NamedServer } from '../../db/drain-work.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import { policySubjectsOn } from '../../db/fenced-hosts.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { HostDrain } from '../../db/operations.ts'
import type { PlacementPolicy } from '../../db/placement-policies.ts'
import { messageOfMove } from '../../db/server-moves.ts'
import type { Compute } from '../compute.ts'
import { isHostUp } from '../hosts/host-state.ts'
import { appliedPolicy } from '../placement-policies/applied-policy.ts'
import type { RequestContext } from '../request-context.ts'
import { actOnServer } from '../servers/acts/act-on-server.ts'
import { evacuateServer, liveMigrateServer, migrateServer } from '../servers/acts/move-server.ts'
import { BegunMove, NotBegun } from './begun-move.ts'
import {
  afterFailure,
  type DrainMove,
  type DrainSettings,
  type MoveMethod,
  methodCount,
  planDrain,
} from './drain-plan.ts'
import { moveToCell } from './move-to-cell.ts'
import { operatorOf } from './operator-of.ts'

/** So many servers that a drain has not looked at yet are looked at in a round: as many as it may move at a time. */
const FRESH_MAX = 100
/** A host has fewer; more would be moved in the next rounds. */
const SERVERS_MAX = 10_000
const UNKNOWN = 'Its move failed; the actions of the server tell more.'

/** A drain, and what its next round has to know of its cell. */
export type DueDrain = HostDrain & Pick<DrainSettings, 'othersServe'>

/** What is left of a drain after a round of moves. */
export interface MovesLeft {
  /** Servers whose moves have begun and not ended. */
  readonly moving: number
  /** A server that waits, with the reason; undefined: none does. */
  readonly waiting: { readonly name: string; readonly reason: string } | undefined
  /** How many stay on their host, as their placement policies say, and have nothing done to them any more. */
  readonly staying: number
}

/** Takes the moves of a drain one step further, and begins others as long as it may. */
export async function moveServers(
  compute: Compute,
  drain: DueDrain,
  host: HostRecord,
  mayBegin: boolean,
): Promise<MovesLeft> {
  const { db, clock } = compute
  const { view } = host
  const { parallel, liveOnly, toOtherCells, evacuates, othersServe } = drain
  const capabilities = new Set(view.capabilities)
  const isUp = isHostUp(host, compute.cells)
  const settings = {
    ...{ hostId: view.hostId, parallel, liveOnly, toOtherCells, evacuates },
    ...{ mayBegin, isUp, capabilities, othersServe },
  }
  const policies = policiesFor(compute, drain)
  // What stays on the host is counted in each round.
  const max = policies === undefined ? FRESH_MAX : SERVERS_MAX
  const { moves, servers: seen } = await drainWork(db, drain.id, host, max)
  const servers =
    policies === undefined ? seen : await withPolicies(db, policies, drain, host, seen)
  const now = new Date(clock.now())
  const plan = planDrain(settings, servers, moves, now)
  const known = new Map(moves.map((move) => [move.serverId, move]))
  const put = (move: DrainMove) => changeMove(db, drain.id, known.get(move.serverId), move)
  for (const move of plan.ended) await put(move)
  const methods = (serverId: string) =>
    methodCount(settings, servers.find(({ id }) => id === serverId) ?? {})
  for (const move of plan.failed) {
    const why = await whyFailed(db, move)
    await put(afterFailure(move, why ?? UNKNOWN, methods(move.serverId), now))
  }
  for (const { serverId, reason } of plan.stuck) {
    const move = known.get(serverId) ?? newMove(serverId)
    if (move.reason === reason) continue
    const { stays } = servers.find(({ id }) => id === serverId) ?? {}
    const to: DrainMove = { ...move, state: 'waiting', reason }
    await (stays === undefined ? put(to) : keepOnHost(db, drain, known.get(serverId), to))
  }
  await Promise.all([
    ...plan.stop.map((serverId) => stop(compute, drain, serverId)),
    ...plan.confirm.map((serverId) => confirm(compute, drain, serverId)),
    ...plan.begin.map(async ({ serverId, method }) => {
      const seen = known.get(serverId)
      await begin(compute, drain, { serverId, method, seen, methods: methods(serverId) })
    }),
  ])
  return leftOf(await openMoves(db, drain.id), servers)
}

/** A move to another cell takes steps of its own, by which the server's actions have them. */
function whyFailed(db: Executor, { serverId, method, requestId }: DrainMove) {
  const tell = method === 'cell' ? messageOfMove : failureOf
  return tell(db, serverId, requestId ?? '')
}

function leftOf(moves: readonly DrainMove[], servers: readonly NamedServer[]): MovesLeft {
  const others = servers.filter(({ stays }) => stays === undefined)
  const names = new Map(others.map(({ id, name }) => [id, name]))
  const waiting = moves.find(({ serverId, state, reason }) => {
    return state === 'waiting' && reason !== null && names.has(serverId)
  })
  return {
    moving: moves.filter(({ state }) => state === 'moving').length,
    waiting: waiting && {
      name: names.get(waiting.serverId) ?? waiting.serverId,
      reason: waiting.reason ?? '',
    },
    staying: servers.filter(
      ({ stays, vmState }) =>
        stays?.how === 'restart' || (stays !== undefined && vmState !== 'active'),
    ).length,
  }
}

/** All placement policies, if one of them says how servers of such a host leave it, or whether they do. */
function policiesFor(
  { placementPolicies }: Compute,
  { fencedAt, toOtherCells }: HostDrain,
): readonly PlacementPolicy[] | undefined {
  const policies = placementPolicies.all()
  const isFenced = fencedAt !== null
  const matters = ({ rules: { onHostFailure, drainsToOtherCells } }: PlacementPolicy) =>
    isFenced ? onHostFailure !== 'evacuate' : drainsToOtherCells && !toOtherCells
  return policies.some(matters) ? policies : undefined
}

/**
 * With what the placement policies of the servers say: which may leave their cell, and which are left on the host where the
 * gateways evacuate it by themselves.
 */
async function withPolicies(
  db: Executor,
  policies: readonly PlacementPolicy[],
  { fencedAt }: HostDrain,
  { view: { name, hostId } }: HostRecord,
  servers: readonly NamedServer[],
): Promise<readonly NamedServer[]> {
  const isFenced = fencedAt !== null
  const subjects = await policySubjectsOn(db, { name, hostId })
  return servers.map((server) => {
    const subject = subjects.get(server.id)
    const policy = subject && appliedPolicy(policies, subject)
    if (policy == null) return server
    const { onHostFailure: how, drainsToOtherCells } = policy.rules
    if (!isFenced) return drainsToOtherCells ? { ...server, mayLeaveCell: true } : server
    return how === 'evacuate' ? server : { ...server, stays: { how, policy: policy.name } }
  })
}

/** Afterwards the move says why the server stays on a host that has failed, and so does an event. */
async function keepOnHost(
  db: Transactional,
  { id, cellId, subject: host }: HostDrain,
  seen: DrainMove | undefined,
  to: DrainMove,
): Promise<void> {
  const { serverId, reason: message } = to
  const details = { action: 'host failure', state: 'done', host, message }
  await db.transaction(async (tx) => {
    if (await changeMove(tx, id, seen, to))
      queueEvents(tx, [{ type: 'operation.state', serverId, cellId, details }])
  })
}

function newMove(serverId: string): DrainMove {
  return {
    ...{ serverId, state: 'waiting', method: null, tries: 0, reason: null, requestId: null },
    ...{ notBefore: null, startedAt: null, endedAt: null },
  }
}

interface MoveStart {
  readonly serverId: string
  readonly method: MoveMethod
  /** What was done before; undefined: nothing. */
  readonly seen: DrainMove | undefined
  /** How many there are. */
  readonly methods: number
}

/** Afterwards the server is on its way, or waits, and its move says why. */
async function begin(
  compute: Compute,
  drain: HostDrain,
  { serverId, method, seen, methods }: MoveStart,
): Promise<void> {
  const { db, clock } = compute
  const context = operatorOf(drain)
  const { tries } = seen ?? newMove(serverId)
  const tried: DrainMove = {
    ...{ serverId, method, state: 'moving', tries: tries + 1, requestId: context.requestId },
    ...{ reason: null, notBefore: null, startedAt: new Date(clock.now()), endedAt: null },
  }
  const begun = new BegunMove(drain, seen, tried)
  try {
    await START[method](compute, context, serverId, begun)
  } catch (error) {
    if (error instanceof NotBegun) return
    if (!isFailure(error)) throw error
    const now = new Date(clock.now())
    const failed = afterFailure(tried, error.message, methods, now)
    // An unreachable cell refused nothing: the same is tried again.
    const isSilent = error.kind === 'unavailable'
    await changeMove(db, drain.id, begun.kept, isSilent ? { ...failed, tries } : failed)
  }
}

type Start = (
  compute: Compute,
  context: RequestContext,
  id: string,
  around: Pick<FirstTransaction, 'after'>,
) => Promise<unknown>

const START: Readonly<Record<MoveMethod, Start>> = {
  live: (compute, context, id, around) =>
    liveMigrateServer(compute, context, id, { host: null, isAwaited: false }, around),
  cold: (compute, context, id, around) => migrateServer(compute, context, id, null, around),
  cell: (compute, context, id, { after }) =>
    moveToCell(compute, context, id, { to: null, reason: null, ...(after && { after }) }),
  offload: (compute, context, id, around) =>
    actOnServer(compute, context, id, { name: 'shelve-offload' }, around),
  evacuate: (compute, context, id, around) =>
    evacuateServer(compute, context, id, { host: null, password: null, staysOff: false }, around),
}

/** Afterwards the former host lets go of the server. */
function confirm(compute: Compute, drain: HostDrain, serverId: string): Promise<void> {
  return tryAct(compute, drain, serverId, 'confirm-resize')
}

/** Afterwards the server, whose host is off, is stopped, also for its cell, which would start it with the host. */
function stop(compute: Compute, drain: HostDrain, serverId: string): Promise<void> {
  return tryAct(compute, drain, serverId, 'stop')
}

/** A user may have been quicker, and a failure is tried again in the next round. */
async function tryAct(
  compute: Compute,
  drain: HostDrain,
  serverId: string,
  name: 'confirm-resize' | 'stop',
): Promise<void> {
  try {
    await actOnServer(compute, operatorOf(drain), serverId, { name })
  } catch (error) {
    if (!isFailure(error)) throw error
  }
}
