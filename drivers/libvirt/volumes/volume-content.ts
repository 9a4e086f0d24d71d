import { open } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { imageVirtualSize } from '../../image-header.ts'
import { copyDisk } from '../../qemu-img.ts'
import type { VolumeFormat, VolumeSpec } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { backUp } from '../snapshot.ts'
import { lockFailure, openDisksOf } from './openers.ts'
import type { FolderStore } from './pools.ts'
import { formatOfSource } from './store.ts'
import { sizeIfThere, snapshotPath, volumePath, volumeSize } from './volume-files.ts'

/** Afterwards the file at `path`, which was not there, has the content with which the volume begins. */
export async function fillVolume(
  host: LibvirtHost,
  store: FolderStore,
  { from }: Pick<VolumeSpec, 'from'>,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  if (from === undefined) return makeEmpty(path)
  if ('image' in from) {
    const format = formatOfSource(from.image)
    const image = await host.images.path(from.image, signal)
    await imageVirtualSize(image, format)
    return copyDisk({ path: image, format }, { path, format: 'raw' }, signal)
  }
  const to = { path, format: 'raw' } as const
  if (!('snapshot' in from)) return copyVolume(host, store, from.volume, to, signal)
  const snapshot = snapshotPath(store, host.owner, from.volume, from.snapshot)
  if ((await sizeIfThere(snapshot)) === undefined)
    throw new Failure('not-found', `Snapshot ${from.snapshot} could not be found in its store.`)
  await copyDisk({ path: snapshot, format: 'raw' }, to, signal)
}

/**
 * Afterwards the file `to`, which was not there, has the volume's content of one moment, also of a volume that a guest of
 * this host writes. Throws `conflict` where a guest elsewhere, or more than one, may write.
 */
export async function copyVolume(
  host: LibvirtHost,
  store: FolderStore,
  id: VolumeId,
  to: { readonly path: string; readonly format: VolumeFormat },
  signal: AbortSignal,
): Promise<void> {
  const source = volumePath(store, host.owner, id)
  await volumeSize(source, id)
  const disks = (await openDisksOf(host, id, signal)).filter(({ volume }) => !volume.isReadOnly)
  const [disk] = disks
  if (disk !== undefined && !disk.volume.isShared)
    return host.locks.runPreemptible(disk.instance, signal, (lockSignal) =>
      backUp(host, disk.domain, { target: disk.target, ...to }, lockSignal),
    )
  await copyDisk({ path: source, format: 'raw' }, to, signal).catch((error: unknown) => {
    throw lockFailure(error, id)
  })
}

async function makeEmpty(path: string): Promise<void> {
  await (await open(path, 'wx', 0o600)).close()
}
