import type { CountedResource } from '../../placement/resources.ts'
import type { Filter } from '../filter.ts'

export const ramFilter = capacityFilter('RamFilter', 'memoryMb', 'MiB of memory')
export const coreFilter = capacityFilter('CoreFilter', 'vcpus', 'VCPUs')
export const diskFilter = capacityFilter('DiskFilter', 'diskGb', 'GiB of disk')

/** Refuses hosts that have as many instances as their backend takes, such as by a quota of the nested cloud. */
export const backendInstancesFilter: Filter = {
  name: 'BackendInstancesFilter',
  instancesMax: ({ instancesMax = Number.POSITIVE_INFINITY }) => instancesMax,
  refuse: ({ instances, instancesMax = Number.POSITIVE_INFINITY }) =>
    instances < instancesMax
      ? undefined
      : `has ${instances} instances, its backend takes ${instancesMax}`,
}

/** Refuses hosts without room for a class that an operator named, such as that of whole machines. */
export const resourceClassFilter: Filter = {
  name: 'ResourceClassFilter',
  refuse: ({ limits, used }, { resources: { custom = {} } }) => {
    for (const [name, amount] of Object.entries(custom)) {
      const free = (limits.custom?.[name] ?? 0) - (used.custom?.[name] ?? 0)
      if (amount > free) return `has ${Math.max(free, 0)} ${name} free, ${amount} are needed`
    }
    return undefined
  },
}

/** Refuses hosts without room for one class of resource, overcommit included. */
function capacityFilter(name: string, amount: CountedResource, unit: string): Filter {
  return {
    name,
    refuse: (host, { resources }) => {
      const free = host.limits[amount] - host.used[amount]
      if (resources[amount] <= free) return undefined
      return `has ${Math.max(free, 0)} ${unit} free, ${resources[amount]} are needed`
    },
  }
}
