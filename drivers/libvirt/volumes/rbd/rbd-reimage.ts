import { inFile } from '../encryption/luks-file.ts'
import { formatOfSource, type StoreReimage } from '../store.ts'
import { type Ask, rbd } from './rbd-client.ts'
import { type RbdWork, resize } from './rbd-content.ts'
import { copyImage, inPool } from './rbd-encryption.ts'
import { bytesWanted, markHalfWritten, markWritten } from './rbd-half-written.ts'
import { headerOf, specOf, volumeImage } from './rbd-images.ts'
import { refuseWriters } from './rbd-openers.ts'

/**
 * The content is replaced in place, because the snapshots of the volume are this image's. It is cut off first, so that what
 * the new content does not reach is empty. One that is interrupted is asked for again, and knows the size that the volume had.
 */
export async function reimage(work: RbdWork, { id, image }: StoreReimage, ask: Ask): Promise<void> {
  const { client, names, images, hostId } = work
  const format = formatOfSource(image)
  const from = { at: inFile(await images.path(image, ask.signal)), format }
  const { image: name, bytes: now, keyBits } = await volumeImage(client, names, id, ask)
  const path = specOf(client, name)
  await refuseWriters(client, { id, path, hostId }, ask)
  const header = headerOf(keyBits)
  const bytes = Math.max(now + header, (await bytesWanted(client, name, ask)) ?? 0)
  await markHalfWritten(client, { image: name, bytes }, ask)
  const cut = ['resize', '--no-progress', '--allow-shrink', '--size', `${header}B`, path]
  // Ceph refuses a size that the image has already.
  if (now > 0) await rbd(client, cut, { ...ask, isLong: true })
  await resize(client, name, bytes, ask)
  const sealed = keyBits !== undefined && { keyOf: id }
  await copyImage(work, from, { at: inPool(client, name), ...sealed }, ask)
  await markWritten(client, name, ask)
}
