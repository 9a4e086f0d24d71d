import type { CountedResource } from '../placement/resources.ts'
import type { HostState } from './host-state.ts'
import type { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import { DEVICE_CLASS } from './resource-classes.ts'
import { columnOf, columnOfKinds, type Weigher, type WeigherSettings } from './weigher.ts'

/** Every weigher there is. */
export const WEIGHERS: readonly Weigher[] = [
  free('ram', 'memoryMb'),
  free('cpu', 'vcpus'),
  free('disk', 'diskGb'),
  { name: 'instances', column: (table) => columnOf(table, ({ instances }) => -instances) },
  { name: 'soft_affinity', column: members('soft-affinity', 1) },
  { name: 'soft_anti_affinity', column: members('soft-anti-affinity', -1) },
  { name: 'io_ops', column: (table) => columnOf(table, ({ ioOps }) => -ioOps) },
  { name: 'pci', column: freeDevices },
  {
    name: 'build_failure',
    column: (table) =>
      table.hasFailures ? columnOf(table, ({ buildFailures }) => -buildFailures) : undefined,
  },
  {
    name: 'hypervisor_version',
    column: (table) => columnOfKinds(table, ({ hypervisorVersion }) => hypervisorVersion),
  },
  { name: 'metrics', column: metrics },
  { name: 'image_props', column: imageProperties },
]

function free(name: string, amount: CountedResource): Weigher {
  return { name, column: (table) => table.free[amount] }
}

/** The number of servers of the request's group on each host, if the group has this policy. */
function members(policy: 'soft-affinity' | 'soft-anti-affinity', sign: 1 | -1): Weigher['column'] {
  return (table, { group }) =>
    group?.policy === policy && group.members.size > 0
      ? columnOf(table, ({ hostId }) => sign * (group.members.get(hostId) ?? 0))
      : undefined
}

/** The most devices first for a server that asks for some; for others the hosts with the fewest, which keep them free. */
function freeDevices(
  table: HostTable,
  { resources: { custom = {} } }: PlacementRequest,
): Float64Array | undefined {
  if (!table.hasDevices) return undefined
  const sign = Object.keys(custom).some((name) => DEVICE_CLASS.test(name)) ? 1 : -1
  return columnOf(table, (host) => sign * devicesFree(host))
}

/** The sum of the metrics that an operator weighs, each times its weight (nova: MetricsWeigher). */
function metrics(
  table: HostTable,
  _: PlacementRequest,
  { metricWeights, weightOfUnavailable }: WeigherSettings,
): Float64Array | undefined {
  const weights = Object.entries(metricWeights)
  if (weights.length === 0) return undefined
  return columnOf(table, (host) => {
    let sum = 0
    for (const [name, weight] of weights) {
      const value = host.metrics[name]
      if (value === undefined) return weightOfUnavailable
      sum += value * weight
    }
    return sum
  })
}

/** On how many servers each property of the request's image is to be found, times its weight (nova: ImagePropertiesWeigher). */
function imageProperties(
  table: HostTable,
  { image: { properties } }: PlacementRequest,
  { imagePropertyWeights }: WeigherSettings,
): Float64Array | undefined {
  const isSet = Object.keys(imagePropertyWeights).length > 0
  const weights = Object.entries(properties).flatMap(([name, value]) => {
    const weight = isSet ? (imagePropertyWeights[name] ?? 0) : 1
    return weight === 0 ? [] : [{ key: `${name}=${value}`, weight }]
  })
  if (weights.length === 0) return undefined
  return columnOf(table, ({ imagePropertyUses: uses }) =>
    weights.reduce((sum, { key, weight }) => sum + weight * (uses.get(key) ?? 0), 0),
  )
}

function devicesFree({ limits: { custom }, used }: HostState): number {
  if (custom === undefined) return 0
  return Object.entries(custom)
    .filter(([name]) => DEVICE_CLASS.test(name))
    .reduce((sum, [name, amount]) => sum + amount - (used.custom?.[name] ?? 0), 0)
}
