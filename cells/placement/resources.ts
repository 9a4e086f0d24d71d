import type { FlavorSnapshot, ImageSnapshot } from '#openapi/wire/instance.ts'

/** Amounts of what a host offers. Memory in MiB, disk in GiB. */
export interface Resources {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
}

/** Placement's names, in the order of the columns they are kept in. */
export const RESOURCE_CLASSES = {
  vcpus: 'VCPU',
  memoryMb: 'MEMORY_MB',
  diskGb: 'DISK_GB',
} as const satisfies Record<keyof Resources, string>

const MIB_PER_GIB = 1024

/** What a server takes of its host: swap counts as disk, and a flavor without root disk takes what its image asks. */
export function resourcesOf({
  flavor,
  image,
}: {
  readonly flavor: FlavorSnapshot
  readonly image: Pick<ImageSnapshot, 'minDiskGb'>
}): Resources {
  const rootGb = flavor.rootGb === 0 ? image.minDiskGb : flavor.rootGb
  return {
    vcpus: flavor.vcpus,
    memoryMb: flavor.memoryMb,
    diskGb: rootGb + flavor.ephemeralGb + Math.ceil(flavor.swapMb / MIB_PER_GIB),
  }
}
