import { readPageSize, requestedPageSize, SMALL_PAGE_KIB } from './page-size.ts'
import { requestedDevices } from './pci-alias.ts'

type Properties = Readonly<Record<string, string>>

/** Placement's standard class of CPUs that one guest has to itself. */
export const DEDICATED_CPUS = 'PCPU'
/** Memory in large pages of any size, in MiB. */
export const LARGE_PAGES = 'CUSTOM_HUGEPAGE_MB'

const KIB_PER_MIB = 1024

/** The class of memory in large pages of one size, in MiB. */
export function largePagesOf(kib: number): string {
  return `CUSTOM_HUGEPAGE_${kib}K_MB`
}

/** True for memory in large pages, of any size or of one. */
export function isLargePages(resourceClass: string): boolean {
  return resourceClass === LARGE_PAGES || /^CUSTOM_HUGEPAGE_\d+K_MB$/.test(resourceClass)
}

/** In which steps a class is given, and at least one of them: memory in large pages of a size by whole pages, all else by one. */
export function stepOf(resourceClass: string): number {
  const [, kib] = /^CUSTOM_HUGEPAGE_(\d+)K_MB$/.exec(resourceClass) ?? []
  return Math.max(1, Number(kib ?? 0) / KIB_PER_MIB)
}

/** So many MiB in whole pages of a size. */
export function inWholePages(memoryMb: number, kib: number): number {
  return Math.ceil((memoryMb * KIB_PER_MIB) / kib) * (kib / KIB_PER_MIB)
}

/**
 * True where each vCPU is to have a CPU of the host to itself. Extra specs of the flavor override properties of the image;
 * `resources:PCPU` says it, too (nova/virt/hardware.py: `numa_get_constraints`).
 */
export function asksForDedicatedCpus(extraSpecs: Properties, image: Properties): boolean {
  if (Number(extraSpecs['resources:PCPU'] ?? 0) > 0) return true
  return (extraSpecs['hw:cpu_policy'] ?? image['hw_cpu_policy']) === 'dedicated'
}

/**
 * What flavor and image ask for that only some hosts have, by the classes in which those say how much there is. What
 * cannot be read counts as nothing: the host refuses it.
 */
export function hardwareResources(
  flavor: { readonly vcpus: number; readonly memoryMb: number; readonly extraSpecs: Properties },
  image: Properties,
): Readonly<Record<string, number>> {
  const { vcpus, memoryMb, extraSpecs } = flavor
  const devices = extraSpecs['pci_passthrough:alias']
  return {
    ...(asksForDedicatedCpus(extraSpecs, image) && { [DEDICATED_CPUS]: vcpus }),
    ...largePages(memoryMb, readPageSize(requestedPageSize(extraSpecs, image) ?? '')),
    ...(devices !== undefined && requestedDevices(devices)),
  }
}

/** A size that is named counts as of any size, too: both are of the same memory. */
function largePages(
  memoryMb: number,
  size: ReturnType<typeof readPageSize>,
): Readonly<Record<string, number>> {
  if (size === 'large') return { [LARGE_PAGES]: memoryMb }
  if (typeof size !== 'object' || size.kib <= SMALL_PAGE_KIB) return {}
  const amount = inWholePages(memoryMb, size.kib)
  return { [LARGE_PAGES]: amount, [largePagesOf(size.kib)]: amount }
}
