import type { HostId } from '#common/ids.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { WireStore } from '#openapi/wire/volume.ts'
import type { HostRegistry } from '../hosts/host-registry.ts'

export const GIB = 2 ** 30

/** A storage engine that hosts of this cell reach. */
export interface Store extends Readonly<WireStore> {
  /** The sum of the sizes of its volumes and their snapshots, GiB. */
  readonly promisedGb: number
  /** Volumes and snapshots in it with the cell's stamp that the cell did not know at its last look. */
  readonly unknownObjects: number
  readonly hostIds: readonly HostId[]
}

/** The GiB that a store may promise in all: its size times the cell's ratio, rounded down. */
export function promiseLimitGb({ totalBytes }: Pick<Store, 'totalBytes'>, ratio: number): number {
  return Math.floor((totalBytes * ratio) / GIB)
}

/** The GiB of the largest volume that a store can take: what it may still promise, and what it has free. */
function roomGb(store: Store, ratio: number): number {
  const { freeBytes, promisedGb, largestVolumeBytes = Number.POSITIVE_INFINITY } = store
  const freeGb = Math.floor((freeBytes * ratio) / GIB)
  const largestGb = Math.floor(largestVolumeBytes / GIB)
  return Math.min(promiseLimitGb(store, ratio) - promisedGb, freeGb, largestGb)
}

/** A store as its cell offers it to gateways. */
export function storeSummary(store: Store, hosts: HostRegistry, ratio: number): StoreSummary {
  const { id, name, engine, totalBytes, freeBytes, promisedGb, multiattach, hostIds } = store
  const { unknownObjects, encrypts = false, lacks } = store
  const known = hostIds.flatMap((hostId) => hosts.get(hostId) ?? [])
  return {
    id,
    name,
    engine,
    zones: [...new Set(known.map(({ zone }) => zone))].toSorted(),
    totalGb: Math.floor(totalBytes / GIB),
    freeGb: Math.floor(freeBytes / GIB),
    promisedGb,
    roomGb: Math.max(roomGb(store, ratio), 0),
    unknownObjects,
    multiattach,
    encrypts,
    ...(lacks !== undefined && { lacks }),
    isUp: known.some((host) => hosts.isUp(host)),
  }
}
