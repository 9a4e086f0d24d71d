import type { VmState } from '#common/states/instance-states.ts'
import { afterFailure, type DrainMove, inTurn } from './drain-plan.ts'

/** What a server is built from: its newest backup or snapshot, or else its image; or its image in any case. */
export type RecoverySource = 'snapshot' | 'image'

/** What a recovery has done about one server. */
export type Recovered = DrainMove<RecoverySource>

/** A server that was taken from a lost cell, or is being built again. */
export interface LostServer {
  readonly id: string
  readonly name: string
  readonly projectId: string
  readonly vmState: VmState
  readonly cellId: string | null
  readonly attempt: number
  /** A request or a saga is changing it. */
  readonly isBusy: boolean
  /** Of its last build; null: none. */
  readonly fault: string | null
  /** The cell from which it was taken; null: it is built again. */
  readonly lostCellId: string | null
  readonly startsFromVolume: boolean
}

/** What is to be done next. */
export interface RecoveryPlan {
  /** Servers that may be built now, in the order of their turns: those that have waited longest since their last try first. */
  readonly due: readonly LostServer[]
  /** As they are from now on. */
  readonly changed: readonly Recovered[]
  /** Servers whose builds are under way. */
  readonly building: number
}

/** Decides what a recovery does next. `servers`: those in no cell, and those that it has begun to build. */
export function planRecovery(
  servers: readonly LostServer[],
  moves: readonly Recovered[],
  now: Date,
): RecoveryPlan {
  const known = new Map(moves.map((move) => [move.serverId, move]))
  const there = new Map(servers.map((server) => [server.id, server]))
  const begun = moves.filter(({ state }) => state === 'moving')
  const ended = begun.flatMap((move) => endOf(move, there.get(move.serverId), now) ?? [])
  const gone = moves.filter(({ state, serverId }) => state === 'waiting' && !there.has(serverId))
  const idle = servers.filter(({ id, cellId, isBusy }) => {
    const state = ended.find(({ serverId }) => serverId === id)?.state ?? known.get(id)?.state
    return cellId === null && !isBusy && state !== 'moving'
  })
  const due = idle.filter(({ id }) => {
    const move = ended.find(({ serverId }) => serverId === id) ?? known.get(id)
    return (move?.notBefore ?? now) <= now
  })
  return {
    due: inTurn(due, known),
    changed: [
      ...ended,
      ...gone.map((move) => ({ ...move, state: 'gone' as const, reason: null, endedAt: now })),
    ],
    building: begun.length - ended.length,
  }
}

/** Undefined while it is being built. */
function endOf(move: Recovered, server: LostServer | undefined, now: Date): Recovered | undefined {
  if (server === undefined) return { ...move, state: 'gone', endedAt: now }
  if (server.isBusy || server.vmState === 'building') return undefined
  if (server.cellId === null) return afterFailure(move, server.fault ?? NOT_BUILT, 1, now)
  if (server.vmState === 'error')
    return { ...move, state: 'gone', reason: 'It is in ERROR; its fault says why.', endedAt: now }
  return { ...move, state: 'moved', endedAt: now }
}

const NOT_BUILT = 'No cell built it.'
