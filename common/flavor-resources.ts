import { asksForDedicatedCpus, hardwareResources } from './hardware-resources.ts'

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
const CUSTOM_CLASS = /^resources:(CUSTOM_[A-Z0-9_]+)$/

/**
 * The resources that one server of the flavor takes from a host: swap counts as disk, and an extra spec such as
 * `resources:VCPU=0` replaces the flavor's own amount (Nova: "Flavors", extra specs `resources`). Dedicated CPUs are
 * not counted among the shared ones.
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
    const [, resourceClass] = CUSTOM_CLASS.exec(key) ?? []
    const amount = amountOf(text) ?? 0
    return resourceClass === undefined || amount === 0 ? [] : [[resourceClass, amount] as const]
  })
  const custom = [...Object.entries(hardwareResources(flavor, imageProperties)), ...named]
  const shared = asksForDedicatedCpus(extraSpecs, imageProperties) ? 0 : vcpus
  return {
    vcpus: instead('VCPU', shared),
    memoryMb: instead('MEMORY_MB', memoryMb),
    diskGb: instead('DISK_GB', diskGb),
    ...(custom.length > 0 && { custom: Object.fromEntries(custom) }),
  }
}

/** Undefined for text that is not an amount: Nova ignores it, too. */
function amountOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
