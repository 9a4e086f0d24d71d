import { type CellId, newId } from '#common/ids.ts'
import {
  type ProvidedInventory,
  type Provider,
  type ProviderTree,
  providersOf,
} from '#gateway/app/placement/provider.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { SeededRandom } from '../env/random.ts'
import { sampleHost } from '../env/sample-host.ts'

/** Trees of providers, and queries about them, as chance has them. */

export type Query = Readonly<Record<string, string | readonly string[]>>

/** Of which trees and queries are. */
export interface Classes {
  readonly host: readonly string[]
  readonly part: readonly string[]
  readonly amounts: readonly number[]
}

const TRAITS = [
  ...['COMPUTE_NODE', 'CUSTOM_FAST', 'CUSTOM_NEAR', 'CUSTOM_GOLD', 'HW_CPU_X86_AVX2'],
  'HW_NUMA_ROOT',
]
const AGGREGATES = ['a', 'b', 'c'].map((letter) => `0000000${letter}-0000-4000-8000-000000000000`)
/** What roots have, and what parts below them have. */
export const RANDOM_CLASSES: Classes = {
  host: ['VCPU', 'MEMORY_MB', 'DISK_GB', 'PCPU'],
  part: ['CUSTOM_PORT', 'CUSTOM_PCI_GPU', 'VGPU', 'VCPU'],
  amounts: [1, 1, 2, 3],
}
export const HOST_CLASSES: Classes = {
  host: ['VCPU', 'MEMORY_MB', 'DISK_GB', 'PCPU', 'CUSTOM_HUGEPAGE_2048K_MB'],
  part: [
    ...['CUSTOM_PCI_GPU', 'CUSTOM_PCI_NIC', 'CUSTOM_GOLD', 'CUSTOM_HUGEPAGE_2048K_MB'],
    ...['VCPU', 'MEMORY_MB'],
  ],
  amounts: [1, 1, 2, 4],
}
const SUFFIXES = ['1', '2', '_NET', '_GPU']

const NODES = [0, 1].map((id) => {
  return { id, cpus: 6, dedicatedCpus: 2, memoryMb: 8_192, pages: { 2048: 16 } }
})

/** Hosts of libvirt and of machines, with the trees that Weir makes of them. */
export function hostTrees(random: SeededRandom): readonly ProviderTree[] {
  const cellId = newId<CellId>()
  const cell = [0, 1].map(() => AGGREGATES.filter(() => random.next() < 0.5))
  const traits = () => TRAITS.filter(() => random.next() < 0.5)
  const resources = {
    ...{ PCPU: 4, CUSTOM_HUGEPAGE_MB: 64, CUSTOM_HUGEPAGE_2048K_MB: 64 },
    ...{ CUSTOM_PCI_GPU: 2, CUSTOM_PCI_NIC: 4 },
  }
  const size = { vcpus: 4, memoryMb: 1_024, diskGb: 10 }
  const machines = [
    { resourceClass: 'CUSTOM_GOLD', total: 3, ...size },
    { resourceClass: 'CUSTOM_LEAD', total: 1, ...size },
  ]
  const used = { vcpus: 3, memoryMb: 512, diskGb: 10, instances: 2 }
  const numa = { resources, numa: NODES, hasNumaProviders: true as const }
  const onNodes = { PCPU: 3, NUMA_0_PCPU: 2, NUMA_1_PCPU: 1, NUMA_1_VCPU: 3 }
  type Offer = Partial<NonNullable<HostView['inventory']>>
  const offers: readonly (readonly [Offer, Partial<HostView>])[] = [
    [{}, {}],
    [{ resources }, {}],
    [
      { resources },
      { used: { ...used, custom: { PCPU: 3, CUSTOM_PCI_GPU: 2, CUSTOM_HUGEPAGE_2048K_MB: 62 } } },
    ],
    [{ resources }, { isDisabled: true }],
    [numa, {}],
    [numa, { used: { ...used, custom: onNodes }, ratios: { vcpus: 1, memoryMb: 1, diskGb: 1 } }],
    [{ machines }, {}],
    [{ machines }, { used: { ...used, custom: { CUSTOM_LEAD: 1 } } }],
  ]
  return offers.map(([offer, change], serial) => {
    const host = sampleHost(`host-${serial}`, change)
    const inventory = { ...host.inventory!, ...offer, traits: traits() }
    const aggregates = (cell[serial % 2] ?? []).map((uuid) => {
      return { uuid, hosts: [{ hostId: host.hostId }] }
    })
    const view = { ...host, inventory }
    const record = { cellId, serial, view, createdAt: new Date(0) }
    return providersOf(record, aggregates as never)
  })
}

/** `count` hosts with up to four parts each, below one another or not. */
export function randomTrees(random: SeededRandom, count: number): readonly ProviderTree[] {
  return Array.from({ length: count }, (_, nth) => randomTree(random, `host-${nth}`))
}

function randomTree(random: SeededRandom, host: string): ProviderTree {
  const aggregates = AGGREGATES.filter(() => random.next() < 0.4)
  const root = randomProvider(random, host, null, RANDOM_CLASSES.host, aggregates)
  const tree: [Provider, ...Provider[]] = [root]
  const parts = Math.floor(random.next() * 5)
  for (let nth = 0; nth < parts; nth += 1) {
    const above = random.pick(tree)
    tree.push(randomProvider(random, `${host}-${nth}`, above, RANDOM_CLASSES.part, aggregates))
  }
  return tree
}

function randomProvider(
  random: SeededRandom,
  name: string,
  above: Provider | null,
  classes: readonly string[],
  aggregates: readonly string[],
): Provider {
  const id = randomId(random)
  const has = classes.filter(() => random.next() < (above === null ? 0.9 : 0.4))
  return {
    ...{ id, rootId: above?.rootId ?? id, parentId: above?.id ?? null, name, host: name },
    generation: 0,
    inventories: new Map(has.map((of) => [of, randomInventory(random)] as const)),
    traits: TRAITS.filter(() => random.next() < 0.4),
    aggregates,
  }
}

function randomInventory(random: SeededRandom): ProvidedInventory {
  const stepSize = random.next() < 0.2 ? 2 : 1
  const total = stepSize * (1 + Math.floor(random.next() * 4))
  const reserved = random.next() < 0.2 ? 1 : 0
  const allocationRatio = random.next() < 0.3 ? 2 : 1
  const capacity = (total - reserved) * allocationRatio
  const used = random.next() < 0.3 && capacity >= stepSize ? stepSize : 0
  const maxUnit = random.next() < 0.2 ? stepSize : total
  return { total, reserved, allocationRatio, capacity, used, minUnit: stepSize, maxUnit, stepSize }
}

function randomId(random: SeededRandom): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => Math.floor(random.next() * 16).toString(16)).join('')
  return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`
}

/** A query that may ask for too much, or contradict itself. */
export function randomQuery(
  random: SeededRandom,
  classes: Classes,
  trees: readonly ProviderTree[],
): Query {
  const groups = [
    ...(random.next() < 0.7 ? [''] : []),
    ...SUFFIXES.filter(() => random.next() < 0.35),
  ]
  const query: Record<string, string | readonly string[]> = {}
  for (const suffix of groups) Object.assign(query, randomGroup(random, suffix, { classes, trees }))
  const granular = groups.filter((suffix) => suffix !== '')
  if (granular.length > 1 ? random.next() < 0.95 : random.next() < 0.3)
    query['group_policy'] = random.pick(['none', 'isolate'])
  if (granular.length > 1 && random.next() < 0.5)
    query['same_subtree'] = [some(random, granular, 0.7).join(',')]
  if (random.next() < 0.15) query['root_required'] = randomTraits(random)
  if (random.next() < 0.05) query['limit'] = random.pick(['1', '2', '5'])
  return query
}

/**
 * A group without resources requires some trait and names no tree: Placement knows no provider for one that only forbids
 * traits, and ignores its tree (`get_provider_ids_matching`). Weir heeds both.
 */
function randomGroup(
  random: SeededRandom,
  suffix: string,
  { classes, trees }: { readonly classes: Classes; readonly trees: readonly ProviderTree[] },
): Query {
  const named = some(random, suffix === '' ? classes.host : classes.part, 0.25)
  const amounts = named.map((name) => `${name}:${random.pick(classes.amounts)}`)
  const isBare = suffix !== '' && random.next() < 0.15
  const hasTree = !isBare && random.next() < 0.06
  const required = [
    ...(isBare ? [random.pick(TRAITS)] : []),
    ...(random.next() < 0.25 ? randomRequired(random) : []),
  ]
  return {
    ...(!isBare && { [`resources${suffix}`]: amounts.join(',') }),
    ...(required.length > 0 && { [`required${suffix}`]: required }),
    ...(random.next() < 0.15 && { [`member_of${suffix}`]: [randomAggregates(random)] }),
    ...(hasTree && { [`in_tree${suffix}`]: random.pick(random.pick(trees)).id }),
  }
}

function randomRequired(random: SeededRandom): readonly string[] {
  const all = [randomTraits(random), `in:${some(random, TRAITS, 0.5).join(',')}`]
  return random.next() < 0.5 ? all.slice(0, 1) : all.slice(random.next() < 0.5 ? 1 : 0)
}

/** Some wanted, some not. */
function randomTraits(random: SeededRandom): string {
  const named = some(random, TRAITS, 0.25)
  return named.map((name) => (random.next() < 0.3 ? `!${name}` : name)).join(',')
}

function randomAggregates(random: SeededRandom): string {
  const ids = some(random, AGGREGATES, 0.4)
  const list = ids.length === 1 ? ids[0]! : `in:${ids.join(',')}`
  return random.next() < 0.3 ? `!${list}` : list
}

/** At least one. */
function some<T>(random: SeededRandom, items: readonly T[], share: number): readonly T[] {
  const found = items.filter(() => random.next() < share)
  return found.length === 0 ? [random.pick(items)] : found
}
