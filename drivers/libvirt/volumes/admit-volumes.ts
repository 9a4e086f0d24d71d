import { isFailure } from '#common/errors.ts'
import type { Evacuation } from '../../move.ts'
import type { LibvirtHost } from '../host.ts'
import { type AttachedVolume, isFile, withSwapped } from './volume-device.ts'

/** Before a guest that was off starts again. Throws `conflict` for a volume that another guest has open meanwhile. */
export async function admitVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes.filter((each) => !isFile(each) && each.isLeaving !== true))
    await (await host.openStore(volume.store, signal)).admit(volume, signal)
}

/** Before a guest comes from another host while it runs. */
export async function expectVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes.filter((each) => !isFile(each) && each.isLeaving !== true))
    await (await host.openStore(volume.store, signal)).expect(volume, signal)
}

/** Of a guest that moves here from another host, before it is defined here, or after it has come while it ran. */
export async function followVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes.filter((each) => !isFile(each) && each.isLeaving !== true))
    await (await host.openStore(volume.store, signal)).follow(volume, signal)
}

/** After a guest is gone from this host, and before its record is. A store that this host does not reach any more knows nothing of it. */
export async function releaseVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of withSwapped(volumes).filter((each) => !isFile(each))) {
    const store = await host.openStore(volume.store, signal).catch((error: unknown) => {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    })
    await store?.release(volume, signal)
  }
}

/**
 * Afterwards a guest of the former host, which is down, does not write the volumes of an instance that leaves it. Those that
 * it shares stay open to the others, and so to it.
 */
export async function fenceVolumes(
  host: LibvirtHost,
  volumes: readonly AttachedVolume[],
  { sourceIsOff }: Pick<Evacuation, 'sourceIsOff'>,
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes.filter(({ isShared }) => !isShared))
    await (await host.openStore(volume.store, signal)).fence(volume, sourceIsOff === true, signal)
}
