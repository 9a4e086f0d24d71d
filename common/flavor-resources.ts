import { asksForDedicatedCpus, hardwareResources } from './hardware-resources.ts'
import { PROVIDED_CLASSES } from './resource-classes.ts'
import { groupAmounts } from './resource-groups.ts'

/** Of a flavor, what decides what its servers take of a host. Memory and swap in MiB, disks in GiB. */
export interface SizedFlavor {
  readonly vcpus: number
  readonly memoryMb: number
  /** 0: as large as the image asks. */
  readonly rootGb: number
  readonly ephemeralGb: number
  readonly swapMb: number
  readonly extraSpecs: Readonly<Record<string, string>>
}

export interface FlavorResources {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** Of classes that not every host has, such as `CUSTOM_GOLD` or `PCPU`; absent: none. */
  readonly custom?: Readonly<Record<string, number>>
}

const MIB_PER_GIB = 1024
const NAMED_CLASS = /^resources:([A-Z][A-Z0-9_]*)$/
/** They have amounts of their own. */
const COUNTED: readonly string[] = PROVIDED_CLASSES

/**
 * The resources that one server of the flavor takes from a host: swap counts as disk, and an extra spec such as
 * `resources:VCPU=0` replaces the flavor's own amount, while the groups of `resources1:VCPU=1` add to it (Nova:
 * "Flavors", extra specs `resources`). Dedicated CPUs are not counted among the shared ones.
 */
export function flavorResources(
  flavor: SizedFlavor,
  imageProperties: Readonly<Record<string, string>> = {},
): FlavorResources {
  const { vcpus, memoryMb, rootGb, ephemeralGb, swapMb, extraSpecs } = flavor
  const diskGb = rootGb + ephemeralGb + Math.ceil(swapMb / MIB_PER_GIB)
  const instead = (resourceClass: string, own: number) =>
    amountOf(extraSpecs[`resources:${resourceClass}`]) ?? own
  const named = Object.entries(extraSpecs).flatMap(([key, text]) => {
    const [, resourceClass] = NAMED_CLASS.exec(key) ?? []
    const amount = amountOf(text) ?? 0
    return resourceClass === undefined || COUNTED.includes(resourceClass) || amount === 0
      ? []
      : [[resourceClass, amount] as const]
  })
  const own = [...Object.entries(hardwareResources(flavor, imageProperties)), ...named]
  const grouped = groupAmounts(extraSpecs)
  const custom = sumOf(
    Object.fromEntries(own),
    Object.entries(grouped).filter(([name]) => !COUNTED.includes(name)),
  )
  const shared = asksForDedicatedCpus(extraSpecs, imageProperties) ? 0 : vcpus
  return {
    vcpus: instead('VCPU', shared) + (grouped['VCPU'] ?? 0),
    memoryMb: instead('MEMORY_MB', memoryMb) + (grouped['MEMORY_MB'] ?? 0),
    diskGb: instead('DISK_GB', diskGb) + (grouped['DISK_GB'] ?? 0),
    ...(Object.keys(custom).length > 0 && { custom }),
  }
}

function sumOf(
  amounts: Readonly<Record<string, number>>,
  more: readonly (readonly [name: string, amount: number])[],
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = { ...amounts }
  for (const [name, amount] of more) sums[name] = (sums[name] ?? 0) + amount
  return sums
}

/** Undefined for text that is not an amount: Nova ignores it, too. */
function amountOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
