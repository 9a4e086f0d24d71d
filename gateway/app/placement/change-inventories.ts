import { Failure } from '#common/errors.ts'
import { reservedOf } from '#common/reserved.ts'
import type { ProviderSettings } from '#openapi/wire/provider.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { HostChangeDeps } from '../hosts/change-in-cell.ts'
import { changeProvider } from './change-provider.ts'
import { AMOUNT_OF, type ProvidedInventory, type Provider, providersOf } from './provider.ts'

/** An inventory as a client wants it; what is absent stays, but for `reserved`, which is then nothing. */
export interface WantedInventory {
  readonly total: number
  readonly reserved?: number
  readonly minUnit?: number | undefined
  readonly maxUnit?: number | undefined
  readonly stepSize?: number | undefined
  readonly allocationRatio?: number | undefined
}

/** Which inventories, by their classes, of a provider that has this generation. */
export interface WantedInventories {
  readonly generation: number
  readonly inventories: ReadonlyMap<string, WantedInventory>
  /** They are all that the provider is to have. */
  readonly isAll: boolean
  /** Nothing may be left of the total. */
  readonly mayReserveAll: boolean
}

/**
 * Afterwards the host keeps so much of these classes for itself, and its cell places servers in the rest. Throws as
 * `changeProvider`, and `invalid` for a change of anything else: the host reports it.
 */
export function changeInventories(
  deps: HostChangeDeps,
  id: string,
  wanted: WantedInventories,
): Promise<Provider> {
  return changeProvider(deps, id, wanted.generation, async (_tx, host, before) => {
    const [{ inventories }] = providersOf(host, [], { generation: 0, settings: before })
    if (wanted.isAll) refuseMissing(host, inventories, wanted.inventories)
    let settings = before
    for (const [name, inventory] of wanted.inventories) {
      const present = inventories.get(name)
      if (present === undefined) throw noInventory(host, name)
      refuseReported(host, name, present, inventory)
      settings = withReserved(host, settings, name, reservedBy(wanted, name, inventory, present))
    }
    return settings
  })
}

function refuseMissing(
  { view }: HostRecord,
  present: Provider['inventories'],
  wanted: WantedInventories['inventories'],
): void {
  const missing = [...present.keys()].find((name) => !wanted.has(name))
  if (missing === undefined) return
  throw new Failure(
    'invalid',
    `The inventory of class ${missing} cannot be taken from host ${view.name}, which reports it. Name it, too.`,
  )
}

function noInventory({ view }: HostRecord, name: string): Failure {
  return new Failure(
    'invalid',
    `Host ${view.name} has no inventory of class ${name}. Hosts report which classes they have, and how much of them.`,
  )
}

const REPORTED = ['total', 'minUnit', 'maxUnit', 'stepSize'] as const
const NAMES = {
  total: 'total',
  minUnit: 'min_unit',
  maxUnit: 'max_unit',
  stepSize: 'step_size',
} as const
const RATIO_KEYS = {
  VCPU: 'cpu_allocation_ratio',
  MEMORY_MB: 'ram_allocation_ratio',
  DISK_GB: 'disk_allocation_ratio',
} as const

function refuseReported(
  { view }: HostRecord,
  name: string,
  present: ProvidedInventory,
  wanted: WantedInventory,
): void {
  const field = REPORTED.find((each) => (wanted[each] ?? present[each]) !== present[each])
  if (field !== undefined)
    throw new Failure(
      'invalid',
      `${NAMES[field]} of ${name} is ${present[field]} on host ${view.name}, which reports it, and cannot be ${wanted[field]}. Only reserved can be changed.`,
    )
  const { allocationRatio = present.allocationRatio } = wanted
  if (allocationRatio === present.allocationRatio) return
  const key = name in RATIO_KEYS ? RATIO_KEYS[name as keyof typeof RATIO_KEYS] : undefined
  const advice =
    key === undefined
      ? 'It is promised only once.'
      : `Set it by an aggregate of the host: openstack aggregate set --property ${key}=${allocationRatio} AGGREGATE`
  throw new Failure(
    'invalid',
    `allocation_ratio of ${name} is ${present.allocationRatio} on host ${view.name}, and cannot be ${allocationRatio} here. ${advice}`,
  )
}

function reservedBy(
  { mayReserveAll }: WantedInventories,
  name: string,
  { reserved = 0 }: WantedInventory,
  { total }: ProvidedInventory,
): number {
  if (reserved < total || (mayReserveAll && reserved === total)) return reserved
  throw new Failure(
    'invalid',
    `reserved of ${name} cannot be ${reserved}: it must be ${mayReserveAll ? 'at most' : 'less than'} the total, ${total}.`,
  )
}

function withReserved(
  { view }: HostRecord,
  settings: ProviderSettings,
  name: string,
  amount: number,
): ProviderSettings {
  if (!(name in AMOUNT_OF)) {
    if (amount === 0) return settings
    throw new Failure(
      'invalid',
      `reserved of ${name} cannot be ${amount} on host ${view.name}: only of ${Object.keys(AMOUNT_OF).join(', ')} can a part be reserved.`,
    )
  }
  const key = AMOUNT_OF[name as keyof typeof AMOUNT_OF]
  const { reserved: before, ...others } = settings
  const { [key]: _, ...rest } = before ?? {}
  // What the host reports itself it may change later.
  const isOwn = amount === reservedOf({ inventory: view.inventory })[key]
  const reserved = isOwn ? rest : { ...rest, [key]: amount }
  return Object.keys(reserved).length === 0 ? others : { ...others, reserved }
}
