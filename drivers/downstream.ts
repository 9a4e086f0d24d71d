import type { InstanceId } from '#common/ids.ts'

/** Where guests are servers of another cloud. */
export interface Downstream {
  /**
   * The ids of the instance's server in the nested cloud, and in those below that, the nearest first, as far as they
   * answer. Throws `not-found` when there is none below.
   */
  chain(id: InstanceId, signal: AbortSignal): Promise<readonly string[]>
  /**
   * The depth of the nested clouds, for a query that came through these cells. Throws `conflict` if one of the clouds
   * has such a cell, or a cell of this host's cloud: they form a ring.
   */
  clouds(via: readonly string[], signal: AbortSignal): Promise<CloudsBelow>
  /**
   * The cells of the nested cloud, or of the last of the clouds below it that are named. Throws `conflict` for a ring of
   * clouds and for what is no cloud, `not-found` for a cloud that is not there.
   */
  cells(asked: CellsAsked, signal: AbortSignal): Promise<CellsBelow>
}

export interface CellsAsked {
  /** Ids of hosts: the first in the nested cloud, each of the others in the cloud that the one before it is. */
  readonly through: readonly string[]
  /** The cells that the question came through. */
  readonly via: readonly string[]
}

export interface CellsBelow {
  /** Why none are shown: to this account, or because the cloud is no Weir. Null where they are. */
  readonly hidden: 'not-allowed' | 'no-weir' | null
  /** How many there are; `cells` has the first of them. */
  readonly count: number
  readonly cells: readonly CellBelow[]
}

/** Figures are null where the cell has never reported. */
export interface CellBelow {
  readonly name: string
  readonly state: 'up' | 'disabled' | 'unreachable' | 'lost'
  readonly servers: number | null
  readonly hosts: number | null
  readonly hostsUp: number | null
  /** That it may promise, with overcommit. */
  readonly memoryMb: number | null
  readonly memoryMbUsed: number | null
  /** Its hosts that are clouds. */
  readonly clouds: readonly CloudBelow[]
}

export interface CloudBelow {
  readonly id: string
  readonly name: string
  readonly state: 'up' | 'cordoned' | 'down'
  readonly servers: number
  /** That it may promise, with overcommit; null where it has never reported. */
  readonly memoryMb: number | null
  readonly memoryMbUsed: number
}

export interface CloudsBelow {
  /** The most there are below each other. */
  readonly depth: number
  /** False where some did not answer. */
  readonly isWhole: boolean
}
