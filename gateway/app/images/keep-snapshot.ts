import { randomUUID } from 'node:crypto'
import { Failure, isFailure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import { findHost } from '../../db/host-list.ts'
import type { Image, ImageContent } from '../../db/image.ts'
import { knownContents } from '../../db/image-contents.ts'
import { isPartOfAct } from '../../db/image-snapshots.ts'
import { abandonUpload, beginUpload, finishUpload, type Upload } from '../../db/image-uploads.ts'
import { findImage } from '../../db/images.ts'
import { nameFormats, savedFormat } from './fill-snapshot.ts'
import { inspectInWorker } from './formats/inspect-in-worker.ts'
import { type HostReader, sampleAtHost } from './host-content.ts'
import { chargeBytes } from './image-quota.ts'
import type { Images } from './images.ts'
import { refuseAbove } from './receive-content.ts'
import { checkTicket } from './ticket.ts'
import { LEASE_MS, lost } from './upload-content.ts'
import { noSuchImage } from './visible-image.ts'

/** A disk that the host of a server has saved and can keep. */
export interface SavedAtHost extends Omit<ImageContent, 'virtualSizeBytes' | 'hostId'> {
  readonly imageId: string
  readonly ticket: string
  readonly hostId: string
  /** The format in which the host stored the disk. */
  readonly diskFormat: string
  /** The image since which the content has the changes of the disk; null: it is the whole disk. */
  readonly changesOf: string | null
}

export interface Kept {
  /** The image has the content that the host keeps. */
  readonly isKept: boolean
  /** It has it since this request. */
  readonly isFilled: boolean
}

/**
 * Afterwards the image of a server is active with what the host has saved, and that stays there, unless the image was active before. Throws
 * `unauthenticated` for a bad ticket, `not-found` for an image deleted meanwhile, `over-quota`, `too-large`, and `invalid`
 * or `conflict` for what gateways cannot read there, or is to be in their store: the host then sends it.
 */
export async function keepSnapshot(
  images: Images,
  reader: HostReader,
  given: SavedAtHost,
): Promise<Kept> {
  const { imageId, ticket, hostId, sizeBytes } = given
  const asked = { use: 'fill', ticket, imageId, nowMs: images.clock.now() } as const
  const cellId = checkTicket(images.ticketKey, asked)
  const image = await findImage(images.db, imageId)
  if (image === undefined) throw noSuchImage(imageId)
  if (image.status === 'active') return { isKept: isKeptAt(image, hostId), isFilled: false }
  refuseAbove(images.sizeMaxBytes, sizeBytes)
  await refuseToKeep(images, cellId as CellId, given)
  const format = savedFormat(given.diskFormat)
  const virtualSizeBytes = await virtualSizeOf(reader, given, format.diskFormat)
  await nameFormats(images, image, { ...format, changesOf: given.changesOf })
  await commit(images, image, { ...contentOf(given), virtualSizeBytes, hostId })
  return { isKept: true, isFilled: true }
}

/**
 * Whether the host is to go on keeping the content of the image. Throws `unauthenticated` unless the ticket is one with which a
 * host of its cell was to fill the image, though it may have expired.
 */
export async function keepsSnapshot(
  { db, ticketKey }: Images,
  { imageId, ticket, hostId }: Pick<SavedAtHost, 'imageId' | 'ticket' | 'hostId'>,
): Promise<boolean> {
  checkTicket(ticketKey, { use: 'fill', ticket, imageId, nowMs: 0 })
  const image = await findImage(db, imageId)
  return image !== undefined && isKeptAt(image, hostId)
}

function isKeptAt({ content }: Image, hostId: string): boolean {
  return content?.hostId === hostId
}

async function refuseToKeep(
  { db }: Images,
  cellId: CellId,
  { imageId, hostId, sha256 }: SavedAtHost,
): Promise<void> {
  const host = await findHost(db, hostId)
  if (host?.cellId !== cellId || host.view.isDeleted)
    throw new Failure('invalid', `Host ${hostId} is not known in the cell of the ticket.`)
  if (!(await isPartOfAct(db, imageId)))
    throw new Failure('invalid', `Image ${imageId} is to be in the image store.`)
  // A gateway of a former release would count one image less of what the store has when it removes this one.
  if ((await knownContents(db, [sha256])).has(sha256))
    throw new Failure('invalid', `The image store has the content of image ${imageId} already.`)
}

/** Throws `conflict` where it cannot be read. */
async function virtualSizeOf(
  reader: HostReader,
  saved: SavedAtHost,
  format: Parameters<typeof inspectInWorker>[0],
): Promise<number> {
  try {
    return await inspectInWorker(format, await sampleAtHost(reader, saved))
  } catch (cause) {
    if (!isFailure(cause, 'unavailable')) throw cause
    const what = `What host ${saved.hostId} has saved cannot be read there.`
    throw new Failure('conflict', what, { cause })
  }
}

async function commit(images: Images, image: Image, content: ImageContent): Promise<void> {
  const { db, clock, limits } = images
  const upload: Upload = { imageId: image.id, uploadId: randomUUID() }
  const now = new Date(clock.now())
  const begun = { ...upload, status: 'saving', takesOver: true } as const
  if (!(await beginUpload(db, begun, now, new Date(now.getTime() + LEASE_MS)))) throw lost(upload)
  try {
    await db.transaction(async (tx) => {
      if (!image.isPartOfMove) await chargeBytes(tx, image.owner, limits, content.sizeBytes)
      const isOurs = await finishUpload(tx, { ...upload, to: 'active' }, content, now)
      if (!isOurs) throw lost(upload)
    })
  } catch (error) {
    await abandonUpload(db, upload, new Date(clock.now()))
    throw error
  }
}

function contentOf({ sizeBytes, md5, sha256, sha512 }: SavedAtHost) {
  return { sizeBytes, md5, sha256, sha512 }
}
