import { stepOf } from '#common/hardware-resources.ts'
import { chooseNodes, freeOfNodes } from '../../placement/choose-nodes.ts'
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
export const resourceClassFilter: HostFilter = {
  name: 'ResourceClassFilter',
  concerns: (request) => request.nodes !== null || asksFor(request, isNoDevice),
  refuse: (host, request) =>
    whyClassLacks(host, request.resources, isNoDevice) ?? whyNodesLack(host, request),
}

/** Refuses hosts without room for one class of resource, overcommit included, and those that have less of it themselves. */
function capacityFilter(name: string, amount: CountedResource, unit: string): RoomFilter {
  return {
    name,
    by: 'room',
    room: amount,
    needed: ({ resources }) => resources[amount],
    refuse: (host, { resources }) => {
      const needed = resources[amount]
      const most = host.maxUnits[amount]
      if (needed > most) return `gives a server at most ${most} ${unit}, ${needed} are needed`
      const free = host.limits[amount] - host.used[amount]
      if (needed <= free) return undefined
      return `has ${Math.max(free, 0)} ${unit} free, ${needed} are needed`
    },
  }
}

function isNoDevice(resourceClass: string): boolean {
  return !DEVICE_CLASS.test(resourceClass)
}

function asksFor(
  { resources: { custom = {} } }: PlacementRequest,
  judges: (resourceClass: string) => boolean,
): boolean {
  return Object.keys(custom).some(judges)
}

/** Only of hosts whose NUMA nodes are providers of their own is it known what each node has left. */
function whyNodesLack(host: HostState, { nodes }: PlacementRequest): string | undefined {
  const { countedNodes } = host
  if (nodes === null || countedNodes.length === 0) return undefined
  if (chooseNodes(nodes, freeOfNodes(countedNodes, host)) !== undefined) return undefined
  const needed = nodes.parts.map(({ amounts }) => {
    const each = Object.entries(amounts).map(([name, amount]) => `${amount} ${name}`)
    return each.join(' and ')
  })
  const most = `${[...new Set(needed)].join(', ')} free`
  return nodes.isDivisible
    ? `has NUMA nodes with less than ${most} together`
    : `has no ${nodes.parts.length} NUMA nodes with ${most}`
}

function classFilter(name: string, judges: (resourceClass: string) => boolean): HostFilter {
  return {
    name,
    concerns: (request) => asksFor(request, judges),
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
