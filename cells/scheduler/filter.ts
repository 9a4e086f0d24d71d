import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'

export interface Filter {
  /** As in Nova, so that operators recognise it. */
  readonly name: string
  /** True when a server that is rebuilt is held against it, too: it stays where it is, so most are over (nova: `RUN_ON_REBUILD`). */
  readonly runsOnRebuild?: true
  /** Why the host cannot take the request; undefined when this filter has nothing against it. */
  refuse(host: HostState, request: PlacementRequest): string | undefined
}
