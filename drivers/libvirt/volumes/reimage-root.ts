import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { ImageSpec } from '../../driver.ts'
import { imageVirtualSize } from '../../image-header.ts'
import type { VolumeImage } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { refuseOtherHolders } from './attach.ts'
import { formatOfSource } from './store.ts'
import type { AttachedVolume } from './volume-device.ts'

/**
 * The image, which is on this host afterwards, as the content of the volume. Throws `invalid` for one that the volume cannot
 * hold, `not-found` for a volume there is not, and `conflict` for an encrypted one whose key the host does not have.
 */
export async function reimaging(
  host: LibvirtHost,
  { id, store, isEncrypted }: AttachedVolume,
  image: ImageSpec,
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
    await store.reimage(root, image, signal)
  })
}
