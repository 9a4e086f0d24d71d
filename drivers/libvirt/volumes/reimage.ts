import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { imageVirtualSize } from '../../image-header.ts'
import type { VolumeImage, VolumeRef } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { refuseOtherHolders } from './attach.ts'
import { refuseUsed } from './openers.ts'
import { formatOfSource } from './store.ts'
import type { AttachedVolume } from './volume-device.ts'

/** Afterwards the volume, which no guest has, has the content of the image. Throws as `reimaging`, and `conflict` while a guest has it. */
export async function reimageVolume(
  host: LibvirtHost,
  ref: VolumeRef,
  image: VolumeImage,
  signal: AbortSignal,
): Promise<void> {
  const { store: storeId, id } = ref
  const store = await host.openStore(storeId, signal)
  const { isEncrypted } = await store.sourceOf(id, signal)
  await reimaging(host, { ...ref, ...(isEncrypted && { isEncrypted }) }, image, signal)
  await host.volumeLocks.run(id, signal, async () => {
    await refuseUsed(host, store, ref, signal)
    await store.reimage({ id, image }, signal)
  })
}

/**
 * The image, which is on this host afterwards, as the content of the volume. Throws `invalid` for one that the volume cannot
 * hold, `not-found` for a volume there is not, and `conflict` for an encrypted one whose key the host does not have.
 */
export async function reimaging(
  host: LibvirtHost,
  { id, store, isEncrypted }: VolumeRef & Pick<AttachedVolume, 'isEncrypted'>,
  image: VolumeImage,
  signal: AbortSignal,
): Promise<VolumeImage> {
  const format = formatOfSource(image)
  if (isEncrypted === true) host.keyring.keyOf(id)
  const has = await (await host.openStore(store, signal)).sizeOf(id, signal)
  const needs = await imageVirtualSize(await host.images.path(image, signal), format)
  if (needs <= has) return image
  throw new Failure(
    'invalid',
    `Image ${image.id} needs a disk of ${needs} bytes; volume ${id} has ${has}.`,
  )
}

/**
 * Afterwards the volume, from which the instance starts, which is off, has the content of the image. Throws `conflict` where
 * another guest has it.
 */
export async function reimageRoot(
  host: LibvirtHost,
  of: {
    readonly instance: InstanceId
    readonly root: AttachedVolume
    readonly image: VolumeImage
  },
  signal: AbortSignal,
): Promise<void> {
  const { instance, root, image } = of
  const store = await host.openStore(root.store, signal)
  await host.volumeLocks.run(root.id, signal, async () => {
    await refuseOtherHolders(host, instance, { ...root, isShared: false }, signal)
    await store.reimage({ id: root.id, image, root }, signal)
  })
}
