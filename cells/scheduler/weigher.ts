import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'

export interface Weigher {
  readonly name: string
  /** Larger is better; scaled to 0…1 over the hosts compared before it is weighted. */
  score(host: HostState, request: PlacementRequest): number
}
