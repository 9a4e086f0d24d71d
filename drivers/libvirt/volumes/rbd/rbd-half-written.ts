import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { type Ask, EXIT, endedWith, type RbdClient, rbd } from './rbd-client.ts'
import { specOf } from './rbd-images.ts'

/** The image's name and the bytes that it is to have, from before its content is replaced until it is whole. */
const REIMAGING = 'weir_reimaging'

/** Afterwards the image counts as half written. */
export async function markHalfWritten(
  client: RbdClient,
  { image, bytes }: { readonly image: string; readonly bytes: number },
  ask: Ask,
): Promise<void> {
  await rbd(
    client,
    ['image-meta', 'set', specOf(client, image), REIMAGING, `${image} ${bytes}`],
    ask,
  )
}

/** Afterwards the image, which counts as half written, is whole. */
export async function markWritten(client: RbdClient, image: string, ask: Ask): Promise<void> {
  await rbd(client, ['image-meta', 'remove', specOf(client, image), REIMAGING], ask)
}

/** The bytes that the image is to have; undefined: it is whole, or is not there. */
export async function bytesWanted(
  client: RbdClient,
  image: string,
  ask: Ask,
): Promise<number | undefined> {
  const args = ['image-meta', 'get', specOf(client, image), REIMAGING]
  const said = await rbd(client, args, ask).catch((error: unknown) => {
    if (endedWith(error, EXIT.notFound)) return ''
    throw error
  })
  // A clone has what was said of the image that it was cloned from.
  const [name, bytes] = said.trim().split(' ')
  return name === image ? Number(bytes) : undefined
}

/** Throws `conflict` for a volume whose content is half written. */
export async function refuseHalfWritten(
  client: RbdClient,
  { id, image }: { readonly id: VolumeId; readonly image: string },
  ask: Ask,
): Promise<void> {
  if ((await bytesWanted(client, image, ask)) === undefined) return
  throw new Failure(
    'conflict',
    `The content of volume ${id} is half written, because an image was being written into it: rebuild its server again, or re-image the volume.`,
  )
}
