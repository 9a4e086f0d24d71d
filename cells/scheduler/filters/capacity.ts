import type { Resources } from '../../placement/resources.ts'
import type { Filter } from '../filter.ts'

export const ramFilter = capacityFilter('RamFilter', 'memoryMb', 'MiB of memory')
export const coreFilter = capacityFilter('CoreFilter', 'vcpus', 'VCPUs')
export const diskFilter = capacityFilter('DiskFilter', 'diskGb', 'GiB of disk')

/** Refuses hosts without room for one class of resource, overcommit included. */
function capacityFilter(name: string, amount: keyof Resources, unit: string): Filter {
  return {
    name,
    refuse: (host, { resources }) => {
      const free = host.limits[amount] - host.used[amount]
      if (resources[amount] <= free) return undefined
      return `has ${Math.max(free, 0)} ${unit} free, ${resources[amount]} are needed`
    },
  }
}
