import type { LibvirtHost } from '../host.ts'
import type { AttachedVolume } from './volume-device.ts'

/** Before a guest that was off starts again. Throws `conflict` for a volume that another guest has open meanwhile. */
export async function admitVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  // QEMU itself locks those that are files.
  for (const volume of volumes.filter(
    ({ rbd, isLeaving }) => rbd !== undefined && isLeaving !== true,
  ))
    await (await host.openStore(volume.store, signal)).admit(volume, signal)
}

/**
 * Afterwards a guest of the former host, which is down, does not write the volumes of an instance that leaves it. Those that
 * it shares stay open to the others, and so to it.
 */
export async function fenceVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes.filter(({ isShared }) => !isShared))
    await (await host.openStore(volume.store, signal)).fence(volume.id, signal)
}
