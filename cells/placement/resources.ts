import { flavorResources } from '#common/flavor-resources.ts'
import { readNodeClass } from '#common/numa-providers.ts'
import type { FlavorSnapshot, ImageSnapshot, InstanceBuild } from '#openapi/wire/instance.ts'
import type { HeldAmounts } from '#openapi/wire/numa.ts'

/** Amounts of what a host offers. Memory in MiB, disk in GiB. */
export interface Resources {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** Of classes that not every host has, such as `CUSTOM_GOLD` or `PCPU`; absent: none. */
  readonly custom?: Readonly<Record<string, number>>
}

/** The resource classes of every host, which have columns of their own in claims. */
export type CountedResource = Exclude<keyof Resources, 'custom'>

/** Placement's names, in the order of the columns they are kept in. */
export const RESOURCE_CLASSES = {
  vcpus: 'VCPU',
  memoryMb: 'MEMORY_MB',
  diskGb: 'DISK_GB',
} as const satisfies Record<CountedResource, string>

/**
 * The resources that a server takes from its host; for a flavor without a root disk, the disk of its image. A server that
 * starts from a volume has its first disk in a store.
 */
export function resourcesOf({
  flavor,
  image,
  volumes = [],
}: {
  readonly flavor: FlavorSnapshot
  readonly image: Pick<ImageSnapshot, 'minDiskGb' | 'properties'>
  readonly volumes?: InstanceBuild['volumes'] | undefined
}): Resources {
  const isInStore = volumes.some(({ isRoot }) => isRoot === true)
  const ownGb = flavor.rootGb === 0 ? image.minDiskGb : flavor.rootGb
  const rootGb = isInStore ? 0 : ownGb
  return flavorResources({ ...flavor, rootGb }, image.properties)
}

/** By resource class, without what is counted of NUMA nodes besides. */
export function amountsOf({ custom = {}, ...counted }: Resources): HeldAmounts {
  const own = Object.entries(RESOURCE_CLASSES).map(
    ([amount, name]) => [name, counted[amount as CountedResource]] as const,
  )
  const further = Object.entries(custom).filter(([name]) => readNodeClass(name) === undefined)
  return Object.fromEntries([...own, ...further].filter(([, amount]) => amount > 0))
}

/** The sum of both, class by class. */
export function addResources(a: Resources, b: Resources): Resources {
  return combineResources(a, b, (x, y) => x + y)
}

/** Both, class by class; what one has none of counts as 0. */
export function combineResources(
  a: Resources,
  b: Resources,
  how: (x: number, y: number) => number,
): Resources {
  const classes = new Set([...Object.keys(a.custom ?? {}), ...Object.keys(b.custom ?? {})])
  const custom = Object.fromEntries(
    [...classes].map((name) => [name, how(a.custom?.[name] ?? 0, b.custom?.[name] ?? 0)]),
  )
  return {
    vcpus: how(a.vcpus, b.vcpus),
    memoryMb: how(a.memoryMb, b.memoryMb),
    diskGb: how(a.diskGb, b.diskGb),
    ...(classes.size > 0 && { custom }),
  }
}
