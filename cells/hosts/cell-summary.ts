import { readNodeClass } from '#common/numa-providers.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import { addResources, combineResources, type Resources } from '../placement/resources.ts'
import { metricsFilter, unmeasured } from '../scheduler/filters/metrics.ts'
import { instancesAllowed, numInstancesFilter } from '../scheduler/filters/num-instances.ts'
import type { HostState } from '../scheduler/host-state.ts'
import type { Scheduling } from '../scheduler/policy.ts'
import { filtersLeftOut } from '../scheduler/scheduling-from.ts'
import { type Host, traitsOf } from './host.ts'

const NOTHING: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** The summary by which gateways choose cells. Only hosts that could take a server now count as free. */
export function cellSummary(
  hosts: readonly Pick<Host, 'inventory' | 'settings' | 'zone' | 'simulated'>[],
  states: readonly HostState[],
  scheduling: Scheduling,
): CellSummary {
  const usable = states.filter(({ isUp, isDisabled }) => isUp && !isDisabled)
  const inventories = hosts.flatMap(({ inventory }) => (inventory === null ? [] : [inventory]))
  const free = usable.map((state) => (isFull(state, scheduling) ? NOTHING : freeOf(state)))
  const forOne = usable.map((state, place) => forOneServer(state, free[place]!))
  const { custom, ...largest } = forOne.reduce((a, b) => combineResources(a, b, Math.max), NOTHING)
  const { custom: _, ...sum } = free.reduce(addResources, NOTHING)
  return {
    used: sumOf(states.map(({ used }) => used)),
    total: sumOf(inventories),
    limits: sumOf(states.map(({ limits }) => limits)),
    hostsUp: states.filter(({ isUp }) => isUp).length,
    hosts: hosts.length,
    zones: distinct(hosts.map(({ zone }) => zone)),
    simulated: hosts.length > 0 && hosts.every(({ simulated }) => simulated),
    hypervisorTypes: distinct(inventories.map(({ hypervisor }) => hypervisor.type)),
    architectures: distinct(inventories.map(({ architecture }) => architecture)),
    imageFormats: distinct(inventories.flatMap(({ imageFormats }) => imageFormats)),
    traits: distinct(hosts.flatMap(traitsOf)),
    free: sum,
    largest,
    ...(custom && { largestCustom: custom }),
    optionalFilters: scheduling.filters
      .filter(({ runs }) => runs === 'named')
      .map(({ name }) => name),
    filtersLeftOut: [...filtersLeftOut(scheduling)],
    instances: states.reduce((sum, { instances }) => sum + instances, 0),
  }
}

function sumOf(amounts: readonly Resources[]): Resources {
  const plain = amounts.map(({ vcpus, memoryMb, diskGb }) => ({ vcpus, memoryMb, diskGb }))
  return plain.reduce(addResources, NOTHING)
}

/** Has as many instances as its backend takes, or as an operator allows, or does not say how busy it is where it has to. */
function isFull(state: HostState, { filters, filterSettings }: Scheduling): boolean {
  const { instances, instancesMax = Number.POSITIVE_INFINITY } = state
  if (instances >= instancesMax) return true
  if (filters.includes(metricsFilter) && unmeasured(state, filterSettings) !== undefined)
    return true
  return (
    filters.includes(numInstancesFilter) && instances >= instancesAllowed(state, filterSettings).max
  )
}

/** A host whose inventory shrank below its usage has nothing free. */
function freeOf({ limits, used }: HostState): Resources {
  const free = combineResources(limits, used, (limit, taken) => Math.max(limit - taken, 0))
  if (free.custom === undefined) return free
  // No flavor names what is of a NUMA node.
  const ofHosts = Object.entries(free.custom).filter(([name]) => readNodeClass(name) === undefined)
  return { ...free, custom: Object.fromEntries(ofHosts) }
}

/** No more than the host gives one server, which gets one machine where it gives machines. */
function forOneServer({ maxUnits, isOfMachines }: HostState, free: Resources): Resources {
  const { vcpus, memoryMb, diskGb, custom } = free
  const machines = Object.entries(custom ?? {}).map(
    ([name, amount]) => [name, Math.min(amount, 1)] as const,
  )
  return {
    vcpus: Math.min(vcpus, maxUnits.vcpus),
    memoryMb: Math.min(memoryMb, maxUnits.memoryMb),
    diskGb: Math.min(diskGb, maxUnits.diskGb),
    ...(custom && { custom: isOfMachines ? Object.fromEntries(machines) : custom }),
  }
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted()
}
