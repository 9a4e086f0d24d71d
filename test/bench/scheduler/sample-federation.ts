import { cellSummary } from '#cells/hosts/cell-summary.ts'
import { limitsOf } from '#cells/placement/ratios.ts'
import type { HostState } from '#cells/scheduler/host-state.ts'
import { hostState } from '#cells/scheduler/testing.ts'
import type { HostId } from '#common/ids.ts'
import type { Labels, Taint } from '#gateway/db/cell-mappings.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import type { HostView, Inventory } from '#openapi/wire/host.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { SCHEDULING } from './sample.ts'

/** A cell of the federation, as its heartbeats and its operator describe it. */
export interface SampleCell {
  readonly name: string
  readonly isEnabled: boolean
  readonly labels: Labels
  readonly taints: readonly Taint[]
  /** As the cell makes it from its hosts. */
  readonly summary: CellSummary
  /** As the gateways' index has them. */
  readonly hosts: readonly HostView[]
}

const ZONES = 12
const REGIONS = ['eu', 'us', 'asia'] as const
const RATIOS = { vcpus: 4, memoryMb: 1, diskGb: 1 }
/** Machines of three years. */
const GENERATIONS = [
  { model: 'Skylake', trait: 'HW_CPU_X86_AVX2', vcpus: 64, memoryMb: 262_144, diskGb: 4_000 },
  { model: 'Icelake', trait: 'HW_CPU_X86_AVX512F', vcpus: 96, memoryMb: 524_288, diskGb: 8_000 },
  { model: 'Genoa', trait: 'HW_CPU_X86_AMD_SVM', vcpus: 192, memoryMb: 786_432, diskGb: 16_000 },
] as const

/**
 * The cells of a large federation, the same for the same numbers. Each has hosts of three generations in two zones and
 * four aggregates, of which some are down, disabled or full; one cell in 10 is full, one in 25 disabled, one in 12 tainted
 * for all servers, one in 15 for those that others can take, and one in 20 has accelerators.
 */
export function sampleFederation(cells: number, hostsPerCell: number): readonly SampleCell[] {
  return Array.from({ length: cells }, (_, nth) => sampleCell(nth, hostsPerCell))
}

function sampleCell(nth: number, count: number): SampleCell {
  const name = `site-${String(nth + 1).padStart(3, '0')}`
  const views = Array.from({ length: count }, (_, host) => viewOf(name, nth, host))
  const hosts = views.map((view) => ({ ...view, settings: null }))
  const { reserved, ageing } = TAINTS
  return {
    name,
    isEnabled: nth % 25 !== 11,
    labels: { region: REGIONS[nth % REGIONS.length]!, tier: nth % 4 === 0 ? 'gold' : 'standard' },
    taints: [...(nth % 12 === 3 ? [reserved] : []), ...(nth % 15 === 6 ? [ageing] : [])],
    summary: { ...cellSummary(hosts, views.map(stateOf), SCHEDULING), stores: [] },
    hosts: views,
  }
}

const TAINTS = {
  reserved: { key: 'reserved', value: 'lab', effect: 'NoSchedule' },
  ageing: { key: 'ageing', value: '', effect: 'PreferNoSchedule' },
} as const

function viewOf(cell: string, nthCell: number, nth: number): HostView {
  const generation = GENERATIONS[nth % GENERATIONS.length]!
  const { vcpus, memoryMb, diskGb } = generation
  const isFull = nthCell % 10 === 4 || nth % 9 === 0
  const share = isFull ? 1 : ((nthCell * 131 + nth * 7_919) % 900) / 1_000
  const used = {
    vcpus: Math.floor(vcpus * RATIOS.vcpus * share),
    memoryMb: Math.floor(memoryMb * share),
    diskGb: Math.floor(diskGb * share),
  }
  return sampleHost(`${cell}-${String(nth + 1).padStart(3, '0')}`, {
    zone: `zone-${(nthCell + (nth % 2)) % ZONES}`,
    ...{ driver: 'libvirt', simulated: false },
    isUp: nth % 50 !== 7,
    isDisabled: nth % 40 === 13,
    lastSeenAt: Date.now(),
    inventory: inventoryOf(generation, nthCell % 20 === 8),
    ratios: RATIOS,
    used: { ...used, instances: Math.floor(share * 30) },
    aggregates: [{ id: 1 + (nth % 4), metadata: { rack: String(nth % 4), ssd: 'true' } }],
  })
}

function inventoryOf(
  { model, trait, vcpus, memoryMb, diskGb }: (typeof GENERATIONS)[number],
  hasAccelerators: boolean,
): Inventory {
  const inventory = sampleHost('').inventory!
  return {
    ...inventory,
    ...{ vcpus, memoryMb, diskGb },
    cpu: { ...inventory.cpu, vendor: 'Intel', model },
    hypervisor: { type: 'QEMU', version: 7_002_000, hostname: 'qemu' },
    imageFormats: ['qcow2', 'raw'],
    traits: ['COMPUTE_NODE', trait, ...(hasAccelerators ? ['CUSTOM_ACCELERATOR'] : [])],
    ...(hasAccelerators && { resources: { CUSTOM_ACCELERATOR: 4 } }),
  }
}

function stateOf(view: HostView): HostState {
  const { hostId, name, zone, isUp, isDisabled, inventory, aggregates = [] } = view
  const { traits, cpu, imageFormats, resources, ...has } = inventory!
  const { instances, ...used } = view.used
  const limits = limitsOf({ ...has, ...(resources && { custom: resources }) }, RATIOS)
  return hostState(name, {
    ...{ hostId: hostId as HostId, zone, isUp, isDisabled, traits, cpu, imageFormats },
    ...{ limits, used, instances, aggregates },
  })
}
