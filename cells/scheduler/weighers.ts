import type { Resources } from '../placement/resources.ts'
import type { HostState } from './host-state.ts'
import type { Weigher } from './weigher.ts'

const free = (amount: keyof Resources) => (host: HostState) =>
  host.limits[amount] - host.used[amount]

/** Every weigher there is. */
export const WEIGHERS: readonly Weigher[] = [
  { name: 'ram', score: free('memoryMb') },
  { name: 'cpu', score: free('vcpus') },
  { name: 'disk', score: free('diskGb') },
  { name: 'instances', score: (host) => -host.instances },
]
