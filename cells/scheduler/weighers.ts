import type { CountedResource } from '../placement/resources.ts'
import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { Weigher } from './weigher.ts'

const free = (amount: CountedResource) => (host: HostState) =>
  host.limits[amount] - host.used[amount]

/** The number of servers of the request's group on the host, if the group has this policy; 0 otherwise. */
function members(policy: 'soft-affinity' | 'soft-anti-affinity') {
  return ({ hostId }: HostState, { group }: PlacementRequest): number =>
    group?.policy === policy ? (group.members.get(hostId) ?? 0) : 0
}

/** Every weigher there is. */
export const WEIGHERS: readonly Weigher[] = [
  { name: 'ram', score: free('memoryMb') },
  { name: 'cpu', score: free('vcpus') },
  { name: 'disk', score: free('diskGb') },
  { name: 'instances', score: (host) => -host.instances },
  { name: 'soft_affinity', score: members('soft-affinity') },
  {
    name: 'soft_anti_affinity',
    score: (host, request) => -members('soft-anti-affinity')(host, request),
  },
]
