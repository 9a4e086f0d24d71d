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
}

export interface CloudsBelow {
  /** The most there are below each other. */
  readonly depth: number
  /** False where some did not answer. */
  readonly isWhole: boolean
}
