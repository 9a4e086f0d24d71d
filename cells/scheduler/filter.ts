import type { HostKind, HostState } from './host-state.ts'
import type { Room } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'

/** What operators set of filters, the same for all hosts of a cell. */
export interface FilterSettings {
  readonly maxInstancesPerHost: number
  readonly maxIoOpsPerHost: number
  /** By name: hosts that take the isolated images. */
  readonly isolatedHosts: readonly string[]
  /** By id. */
  readonly isolatedImages: readonly string[]
  /** True: isolated hosts take no other images. */
  readonly areIsolatedHostsRestricted: boolean
  /** With what the keys of aggregates begin that AggregateImagePropertiesIsolation looks at; empty: any key. */
  readonly imagePropertiesPrefix: string
  /** The names of the metrics that hosts are weighed by. */
  readonly metrics: readonly string[]
}

/** Why the host cannot take the request; undefined when the filter has nothing against it. */
type Refuse<T extends HostKind> = (
  host: T,
  request: PlacementRequest,
  settings: FilterSettings,
) => string | undefined

interface AnyFilter {
  /** As in Nova, so that operators recognise it. */
  readonly name: string
  /** True when a server that is rebuilt is held against it, too: it stays where it is, so most are over (nova: `RUN_ON_REBUILD`). */
  readonly runsOnRebuild?: true
  /**
   * `named`: only where an operator names it in `CELL_SCHEDULING_FILTERS`. `usual`: unless that leaves it out, and then a cell refuses
   * requests that it `concerns`. Absent: always, since it holds hosts to what every server relies on.
   */
  readonly runs?: 'usual' | 'named'
  /** False: it has nothing against any host for this request. Absent: it has to look at them. */
  readonly concerns?: (request: PlacementRequest) => boolean
  /**
   * How many instances the host may have. Two requests may pass the filter at once, so the claim holds to the number too.
   * Absent: the filter does not count instances.
   */
  readonly instancesMax?: (host: HostState, settings: FilterSettings) => number
}

/** Looks at each host. */
export interface HostFilter extends AnyFilter {
  readonly by?: undefined
  readonly refuse: Refuse<HostState>
}

/** Looks only at what hosts of a kind have in common, so it is asked once for each kind. */
export interface KindFilter extends AnyFilter {
  readonly by: 'kind'
  readonly refuse: Refuse<HostKind>
}

/** Compares one number of each host. It refuses those, and only those, that have less than `needed`. */
export interface RoomFilter extends AnyFilter {
  readonly by: 'room'
  readonly room: Room
  readonly needed: (request: PlacementRequest) => number
  readonly refuse: Refuse<HostState>
}

export type Filter = HostFilter | KindFilter | RoomFilter
