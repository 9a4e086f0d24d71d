import { Failure } from '#common/errors.ts'
import type { ImageContent } from '../../db/image.ts'
import { findImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import { type HostReader, hostContent } from './host-content.ts'
import type { Images } from './images.ts'
import type { Part } from './store/content-store.ts'
import { checkTicket } from './ticket.ts'
import { noSuchImage, visibleImage } from './visible-image.ts'

/** The content of an image that a user may see; null while it has none. Throws `forbidden` when the image is deactivated. */
export async function readableContent(
  images: Images,
  requester: Requester,
  id: string,
): Promise<ImageContent | null> {
  const image = await visibleImage(images, requester, id)
  if (image.status === 'deactivated' && !requester.isAdmin)
    throw new Failure('forbidden', 'The requested image has been deactivated.')
  return image.content
}

/** The content for the holder of a ticket. Throws `unauthenticated` for a bad ticket, `not-found` for no content. */
export async function contentByTicket(
  images: Images,
  id: string,
  ticket: string,
): Promise<ImageContent> {
  checkTicket(images.ticketKey, { use: 'read', ticket, imageId: id, nowMs: images.clock.now() })
  const image = await findImage(images.db, id)
  if (image === undefined || image.content === null) throw noSuchImage(id)
  return image.content
}

/** A host that was sent to the store has so long to begin its download there. */
const DIRECT_S = 900

/** Where the holder of a ticket reads the content from the store itself; undefined where that is not allowed. */
export function directUrl(
  { store }: Images,
  { sha256, hostId }: ImageContent,
): Promise<string | undefined> {
  return hostId === undefined ? store.directUrl(sha256, DIRECT_S) : Promise.resolve(undefined)
}

/** The bytes of the content of an image, or a part of them. Throws `unavailable` when the store does not have it whole. */
export async function openStream(
  images: Images,
  reader: HostReader,
  { imageId, content }: { readonly imageId: string; readonly content: ImageContent },
  part?: Part,
): Promise<ReadableStream<Uint8Array>> {
  const { hostId } = content
  if (hostId !== undefined)
    return ReadableStream.from(hostContent(reader, { ...content, imageId, hostId }, part))
  const { stream, sizeBytes } = await images.store.read(content.sha256, part)
  if (sizeBytes === content.sizeBytes) return stream
  await stream.cancel()
  throw new Failure('unavailable', 'The image content cannot be read right now.', {
    detail: `${content.sha256} has ${sizeBytes} bytes instead of ${content.sizeBytes}`,
  })
}
