import { createHash } from 'node:crypto'
import { stepOf } from '#common/hardware-resources.ts'
import { reservedOf } from '#common/reserved.ts'
import { PROVIDED_CLASSES } from '#common/resource-classes.ts'
import type { Aggregate } from '../../db/aggregates.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { type DecidedProvider, NOTHING_DECIDED } from '../../db/provider-settings.ts'
import { hypervisorHostname } from '../hosts/hypervisors.ts'
import { NODE_TRAIT, providingNodes } from './numa-nodes.ts'

/** A host's inventory of one class. */
export interface ProvidedInventory {
  readonly total: number
  /** The part of the total that the host keeps for itself. */
  readonly reserved: number
  readonly allocationRatio: number
  /** The amount that may be used: the rest of the total times the ratio, rounded down. */
  readonly capacity: number
  readonly used: number
  /** The least and the most that one consumer gets, always in whole steps. */
  readonly minUnit: number
  readonly maxUnit: number
  readonly stepSize: number
}

/**
 * A part of a host as Placement shows it: the host itself is the root, and its PCI devices and whole machines are below it, a
 * provider for each of their classes, and so are its NUMA nodes, where they are providers of their own.
 */
export interface Provider {
  readonly id: string
  /** Of the root. */
  readonly rootId: string
  /** Null: it is the root. */
  readonly parentId: string | null
  /** Of the hypervisor; of providers below it, with their class. */
  readonly name: string
  readonly host: string
  readonly generation: number
  /** Empty while the host never reported. */
  readonly inventories: ReadonlyMap<string, ProvidedInventory>
  readonly traits: readonly string[]
  readonly aggregates: readonly string[]
  /** The number of the host's NUMA node that it is; absent: it is none. */
  readonly numaNode?: number
}

/** A host, and what is below it. */
export type ProviderTree = readonly [root: Provider, ...parts: Provider[]]

/** Nova's compute manager keeps this trait on hosts that are disabled, so that nothing is placed on them. */
export const DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED'

/**
 * The host with its parts, the host first. Its cell counts as an aggregate: hosts of one cell share a scheduler. `decided`
 * is shown also while the cell does not know it yet.
 */
export function providersOf(
  record: HostRecord,
  aggregates: readonly Aggregate[],
  decided: DecidedProvider = NOTHING_DECIDED,
): ProviderTree {
  const view = { ...record.view, settings: decided.settings }
  const host = { ...record, view }
  const traits = new Set([...ownTraits(host), ...decided.settings.traits])
  const groups = aggregates.filter(({ hosts }) =>
    hosts.some(({ hostId }) => hostId === view.hostId),
  )
  const name = hypervisorHostname(host)
  const nodes = providingNodes(view)
  const ofNodes = new Set(nodes.flatMap(({ inventories }) => [...inventories.keys()]))
  const root: Provider = {
    id: view.hostId,
    rootId: view.hostId,
    parentId: null,
    name,
    host: view.name,
    generation: generationOf(host, decided),
    inventories: new Map(view.inventory === null ? [] : amountsOf(host, ofNodes)),
    traits: [...traits].toSorted(),
    aggregates: [host.cellId, ...groups.map(({ uuid }) => uuid)],
  }
  const parts = partsOf(view).map(({ resourceClass, inventory, hasTraits }) => ({
    ...root,
    id: partId(view.hostId, resourceClass),
    parentId: root.id,
    name: `${name}_${resourceClass}`,
    inventories: new Map([[resourceClass, inventory]]),
    // Machines have the traits, devices are of a host that has them.
    traits: hasTraits ? root.traits : [],
  }))
  const below = nodes.map(({ id, inventories }) => ({
    ...root,
    id: partId(view.hostId, `NUMA_${id}`),
    parentId: root.id,
    name: `${name}_NUMA_${id}`,
    inventories,
    traits: [NODE_TRAIT],
    numaNode: id,
  }))
  return [root, ...parts, ...below]
}

/** It grows with what the host reports, and with what administrators decide about it. */
export function generationOf({ view }: HostRecord, { generation }: DecidedProvider): number {
  return view.version + generation
}

/** Those that the host has without an administrator. */
export function ownTraits({ view }: HostRecord): readonly string[] {
  return [...(view.inventory?.traits ?? []), ...(view.isDisabled ? [DISABLED_TRAIT] : [])]
}

/** The same for the same part of the same host, in the form of a UUID of its own making (RFC 9562, version 8). */
function partId(hostId: string, resourceClass: string): string {
  const hex = createHash('sha256').update(`${hostId} ${resourceClass}`).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return [...parts, hex.slice(20, 32)].join('-')
}

/** By class, those that hosts have in parts. */
export const AMOUNT_OF = { VCPU: 'vcpus', MEMORY_MB: 'memoryMb', DISK_GB: 'diskGb' } as const
const DEVICES = /^CUSTOM_PCI_/

type Named = readonly (readonly [string, ProvidedInventory])[]

/** What the host offers itself, and not by its NUMA nodes. */
function amountsOf({ view }: HostRecord, ofNodes: ReadonlySet<string>): Named {
  const { inventory, ratios, used } = view
  if (inventory?.machines !== undefined) return []
  const further = Object.entries(inventory?.resources ?? {}).filter(([name]) => !DEVICES.test(name))
  const amounts = PROVIDED_CLASSES.map((name) => {
    const key = AMOUNT_OF[name]
    const total = inventory?.[key] ?? 0
    const allocationRatio = ratios[key]
    const reserved = reservedOf(view)[key]
    const capacity = Math.floor(Math.max(0, total - reserved) * allocationRatio)
    const units = { minUnit: 1, maxUnit: total, stepSize: 1 }
    return [
      name,
      { total, reserved, allocationRatio, capacity, used: used[key], ...units },
    ] as const
  })
  const exact = further.map(([name, total]) => [name, exactly(view, name, total)] as const)
  return [...amounts, ...exact].filter(([name, { total }]) => total > 0 && !ofNodes.has(name))
}

interface Part {
  readonly resourceClass: string
  readonly inventory: ProvidedInventory
  readonly hasTraits: boolean
}

function partsOf(view: HostRecord['view']): readonly Part[] {
  const { machines = [], resources = {} } = view.inventory ?? {}
  const whole = machines.map(({ resourceClass, total }) => ({
    resourceClass,
    // A server has one machine.
    inventory: { ...exactly(view, resourceClass, total), maxUnit: 1 },
    hasTraits: true,
  }))
  const devices = Object.entries(resources)
    .filter(([name, total]) => DEVICES.test(name) && total > 0)
    .map(([name, total]) => {
      return { resourceClass: name, inventory: exactly(view, name, total), hasTraits: false }
    })
  return [...whole, ...devices].filter(({ inventory }) => inventory.total > 0)
}

/** An amount of which no part is promised twice; memory in large pages goes by whole pages. */
function exactly({ used }: HostRecord['view'], name: string, total: number): ProvidedInventory {
  const stepSize = stepOf(name)
  return {
    ...{ total, reserved: 0, allocationRatio: 1, capacity: total },
    used: used.custom?.[name] ?? 0,
    ...{ minUnit: stepSize, maxUnit: total, stepSize },
  }
}
