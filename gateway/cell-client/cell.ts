import type { CellId } from '#common/ids.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import type { Labels, Taint } from '../db/cell-mappings.ts'
import type { CellRef } from './client.ts'

export interface Resources {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** Of classes that operators named; absent: none. */
  readonly custom?: Readonly<Record<string, number>>
}

/** A cell as this gateway knows it at this moment. */
export interface Cell extends CellRef {
  readonly isEnabled: boolean
  /** By which its free room counts. */
  readonly weight: number
  /** Null: the one of all cells for which none is named. */
  readonly transportZone: string | null
  /** By which placement policies select it. */
  readonly labels: Labels
  readonly taints: readonly Taint[]
  /** Ids of the cells to whose hosts the last test found no tunnel. */
  readonly cannotTunnelTo: ReadonlySet<string>
  /** False: the cell has sent no heartbeat for longer than its deadline, or an operator declared it lost. */
  readonly isReachable: boolean
  /**
   * True from when an operator declared the cell lost until it has rejoined, and destroyed the servers that are no
   * longer its own.
   */
  readonly isLost: boolean
  /** Since when, in milliseconds since the epoch; undefined for one that is not lost. */
  readonly lostAt: number | undefined
  /** As `isReachable`, also of a lost cell. */
  readonly sendsHeartbeats: boolean
  /** True until all of its servers and hosts have been compared with the gateways' index. */
  readonly needsResync: boolean
  /** Milliseconds since the epoch; undefined before the first heartbeat. */
  readonly lastHeartbeatAt: number | undefined
  /** From the last heartbeat that any gateway received; undefined before the first. */
  readonly summary: CellSummary | undefined
  /** The incarnation of its database, from the last heartbeat; undefined before the first to this gateway. */
  readonly incarnation: string | undefined
  /** The resources that this gateway has assigned to it, and that are not in the summary. */
  readonly reserved: Resources
  /** For how many servers. */
  readonly reservedServers: number
}

/**
 * True for a cell that has disappeared. A cell that was admitted and has not reported yet has still to start, and one
 * that has not reported since this gateway started may do so at any moment.
 */
export function isMissed(
  cells: { isUnreachable(id: CellId): boolean },
  { id, isReachable, lastHeartbeatAt }: Pick<Cell, 'id' | 'isReachable' | 'lastHeartbeatAt'>,
): boolean {
  return !isReachable && lastHeartbeatAt !== undefined && cells.isUnreachable(id)
}
