import { DEFAULT_FILTERS } from '#cells/scheduler/filters.ts'
import type { HostState } from '#cells/scheduler/host-state.ts'
import type { PlacementRequest } from '#cells/scheduler/placement-request.ts'
import { schedulingFrom } from '#cells/scheduler/scheduling-from.ts'
import {
  FILTER_SETTINGS,
  hostState,
  placementRequest,
  WEIGHER_SETTINGS,
} from '#cells/scheduler/testing.ts'

/** As cells have them that set nothing. */
const WEIGHTS = {
  ...{ ram: 1, cpu: 1, disk: 1, soft_affinity: 10, soft_anti_affinity: 10 },
  ...{ pci: 1, build_failure: 1_000_000, hypervisor_version: 1, metrics: 1 },
}

export const SCHEDULING = schedulingFrom(
  {
    schedulingPolicy: 'filter',
    filters: DEFAULT_FILTERS,
    filterSettings: FILTER_SETTINGS,
    weights: WEIGHTS,
    weigherSettings: WEIGHER_SETTINGS,
  },
  () => 0,
)

export const REQUEST: PlacementRequest = placementRequest({
  resources: { vcpus: 1, memoryMb: 128, diskGb: 1 },
})

/** More than any run takes. */
const PLENTY = { vcpus: 1_000_000, memoryMb: 1_000_000_000, diskGb: 10_000_000 }
/** Above it a host has nothing left of the resource. */
const SHARE_MAX = 0.98

/**
 * Hosts of a cell that is half full, the same for the same number: one in 50 is down, a few have no room for the request, and
 * there are three hardware generations.
 */
export function sampleHosts(count: number, limits = PLENTY): readonly HostState[] {
  const generations = ['Skylake', 'Icelake', 'Genoa']
  return Array.from({ length: count }, (_, nth) => {
    const share = (offset: number) => {
      const part = ((nth * 7_919 + offset) % 1_000) / 1_000
      return part > SHARE_MAX ? 1 : part
    }
    const vendor = generations[nth % generations.length]!
    return hostState(`compute-${String(nth).padStart(6, '0')}`, {
      limits,
      used: {
        vcpus: Math.floor(limits.vcpus * share(0)),
        memoryMb: Math.floor(limits.memoryMb * share(331)),
        diskGb: Math.floor(limits.diskGb * share(677)),
      },
      isUp: nth % 50 !== 7,
      traits: ['COMPUTE_NODE', `CUSTOM_${vendor.toUpperCase()}`],
      instances: nth % 40,
    })
  })
}
