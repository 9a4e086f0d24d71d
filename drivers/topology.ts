import type { InstanceId } from '#common/ids.ts'

/** Lays guests out on the CPUs and memory nodes of its host. */
export interface Topology {
  /** Where the guest lies; null: wherever its host puts it. */
  read(id: InstanceId, signal: AbortSignal): Promise<GuestTopology | null>
}

export interface GuestTopology {
  /** Of its memory's pages; null: as the host has them. */
  readonly pageKib: number | null
  readonly nodes: readonly TopologyNode[]
}

/** A memory node, as the guest sees it. */
export interface TopologyNode {
  readonly vcpus: readonly number[]
  readonly memoryMb: number
  /** Which of the host's it is; null: it may be on several. */
  readonly hostNode: number | null
  /** The host's CPU for each of `vcpus`, in their order; empty: any that are shared. */
  readonly pins: readonly number[]
}
