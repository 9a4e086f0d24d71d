import { stepOf } from '#common/hardware-resources.ts'
import type { CountedResource } from '../../placement/resources.ts'
import type { HostFilter, RoomFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import type { PlacementRequest } from '../placement-request.ts'
import { DEVICE_CLASS } from '../resource-classes.ts'

export const ramFilter = capacityFilter('RamFilter', 'memoryMb', 'MiB of memory')
export const coreFilter = capacityFilter('CoreFilter', 'vcpus', 'VCPUs')
export const diskFilter = capacityFilter('DiskFilter', 'diskGb', 'GiB of disk')

/** Refuses hosts that have as many instances as their backend takes, such as by a quota of the nested cloud. */
export const backendInstancesFilter: RoomFilter = {
  name: 'BackendInstancesFilter',
  by: 'room',
  room: 'instances',
  needed: () => 1,
  instancesMax: ({ instancesMax = Number.POSITIVE_INFINITY }) => instancesMax,
  refuse: ({ instances, instancesMax = Number.POSITIVE_INFINITY }) =>
    instances < instancesMax
      ? undefined
      : `has ${instances} instances, its backend takes ${instancesMax}`,
}

/** Refuses hosts without the PCI devices that the flavor asks for by their aliases. */
export const pciPassthroughFilter = classFilter('PciPassthroughFilter', (name) =>
  DEVICE_CLASS.test(name),
)

/** Refuses hosts without room for another class that not every host has, such as that of whole machines, in the units in which it is given. */
export const resourceClassFilter = classFilter(
  'ResourceClassFilter',
  (name) => !DEVICE_CLASS.test(name),
)

/** Refuses hosts without room for one class of resource, overcommit included. */
function capacityFilter(name: string, amount: CountedResource, unit: string): RoomFilter {
  return {
    name,
    by: 'room',
    room: amount,
    needed: ({ resources }) => resources[amount],
    refuse: (host, { resources }) => {
      const free = host.limits[amount] - host.used[amount]
      if (resources[amount] <= free) return undefined
      return `has ${Math.max(free, 0)} ${unit} free, ${resources[amount]} are needed`
    },
  }
}

function classFilter(name: string, judges: (resourceClass: string) => boolean): HostFilter {
  return {
    name,
    concerns: ({ resources: { custom = {} } }) => Object.keys(custom).some(judges),
    refuse: (host, { resources }) => whyClassLacks(host, resources, judges),
  }
}

function whyClassLacks(
  { limits, used, isOfMachines }: HostState,
  { custom = {} }: PlacementRequest['resources'],
  judges: (resourceClass: string) => boolean,
): string | undefined {
  for (const [name, amount] of Object.entries(custom)) {
    if (!judges(name)) continue
    const free = (limits.custom?.[name] ?? 0) - (used.custom?.[name] ?? 0)
    if (amount > free) return `has ${Math.max(free, 0)} ${name} free, ${amount} are needed`
    if (isOfMachines && amount > 1) return `gives a server one ${name}, ${amount} are needed`
    const step = stepOf(name)
    if (amount % step !== 0) return `gives ${name} by ${step}, ${amount} are needed`
  }
  return undefined
}
