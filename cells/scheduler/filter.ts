import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'

/** What operators set of filters, the same for all hosts of a cell. */
export interface FilterSettings {
  readonly maxInstancesPerHost: number
  /** By name: hosts that take the isolated images. */
  readonly isolatedHosts: readonly string[]
  /** By id. */
  readonly isolatedImages: readonly string[]
  /** True: isolated hosts take no other images. */
  readonly areIsolatedHostsRestricted: boolean
}

export interface Filter {
  /** As in Nova, so that operators recognise it. */
  readonly name: string
  /** True when a server that is rebuilt is held against it, too: it stays where it is, so most are over (nova: `RUN_ON_REBUILD`). */
  readonly runsOnRebuild?: true
  /** True when it runs only where an operator names it in `CELL_SCHEDULING_FILTERS`. */
  readonly isOptional?: true
  /** Why the host cannot take the request; undefined when this filter has nothing against it. */
  refuse(host: HostState, request: PlacementRequest, settings: FilterSettings): string | undefined
  /**
   * How many instances the host may have. Two requests may pass the filter at once, so the claim holds to the number too.
   * Absent: the filter does not count instances.
   */
  instancesMax?(host: HostState, settings: FilterSettings): number
}
