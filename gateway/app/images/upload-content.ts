import { randomUUID } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { Image, ImageContent } from '../../db/image.ts'
import { countContent } from '../../db/image-contents.ts'
import {
  abandonUpload,
  beginUpload,
  finishUpload,
  renewUpload,
  type Upload,
  type UploadStatus,
} from '../../db/image-uploads.ts'
import type { Requester } from '../requester.ts'
import { removeUnlessCounted } from './collect-content.ts'
import { DISK_FORMATS, type WantedFormat } from './formats/format.ts'
import { chargeBytes } from './image-quota.ts'
import type { Images } from './images.ts'
import { receiveContent, refuseAbove } from './receive-content.ts'
import type { Incoming } from './store/content-store.ts'
import { ownImage } from './visible-image.ts'

/** An upload not renewed for this long is dead: its process is gone. */
export const LEASE_MS = 120_000

export interface ContentUpload {
  readonly imageId: string
  readonly body: AsyncIterable<Uint8Array>
  /** Content-Length, where the client sent one. */
  readonly declaredBytes: number | undefined
}

/**
 * Afterwards the image is active with the content. On any failure it is `queued` again and nothing of the upload
 * is left. Throws `too-large`, `over-quota`, `conflict` unless the image waits for content, `invalid` for what its
 * format forbids, `TooManyRequests` while too many uploads are under way.
 */
export async function uploadContent(
  images: Images,
  requester: Requester,
  given: ContentUpload,
): Promise<void> {
  const image = await ownImage(images, requester, given.imageId, 'upload to')
  await fill(images, image, given, {
    status: 'saving',
    to: 'active',
    format: wantedFormat(images, image),
  })
}

/** Afterwards the content waits beside the image for its import. Fails as `uploadContent` does, but for formats. */
export async function stageContent(
  images: Images,
  requester: Requester,
  given: ContentUpload,
): Promise<void> {
  const image = await ownImage(images, requester, given.imageId, 'upload to')
  await fill(images, image, given, { status: 'uploading', to: 'uploading', format: undefined })
}

/**
 * Afterwards the image is active with the content, in the format that the sender names. Its host is the only one that fills it, so an
 * upload that is still known has broken off: of a gateway that was killed, this one is the first to hear of that. Fails as
 * `uploadContent` does.
 */
export function fillWith(
  images: Images,
  image: Image,
  given: ContentUpload,
  format: WantedFormat,
): Promise<void> {
  return fill(images, image, given, { status: 'saving', to: 'active', format, takesOver: true })
}

interface Target {
  readonly status: UploadStatus
  readonly to: 'active' | 'uploading'
  readonly format: WantedFormat | undefined
  readonly takesOver?: true
}

async function fill(
  images: Images,
  image: Image,
  given: ContentUpload,
  { status, to, format, takesOver }: Target,
): Promise<void> {
  const { db, clock, sizeMaxBytes } = images
  using _slot = await images.uploadSlots.take(image.owner)
  refuseAbove(sizeMaxBytes, given.declaredBytes ?? 0)
  const upload: Upload = { imageId: image.id, uploadId: randomUUID() }
  const now = clock.now()
  const lease = new Date(now + LEASE_MS)
  const begun = { ...upload, status, takesOver: takesOver === true }
  if (!(await beginUpload(db, begun, new Date(now), lease)))
    throw new Failure('conflict', `Image ${image.id} already has data or is being uploaded.`)
  try {
    await using incoming = await images.store.receive()
    const { body, declaredBytes } = given
    const content = await receiveContent(incoming, {
      body,
      declaredBytes,
      sizeMaxBytes,
      format,
      clock,
      renew: () => renew(images, upload, clock.now()),
    })
    const { owner, isPartOfMove: isUncharged } = image
    await keepContent(images, { ...upload, owner, to, isUncharged }, incoming, content)
  } catch (error) {
    await abandonUpload(db, upload, new Date(clock.now()))
    throw error
  }
}

/** The format the image's data must have. Throws `invalid` while the image does not say. */
export function wantedFormat(
  { mayFormatsDiffer }: Pick<Images, 'mayFormatsDiffer'>,
  image: Pick<Image, 'diskFormat' | 'containerFormat'>,
): WantedFormat {
  const format = DISK_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined || image.containerFormat === null)
    throw new Failure(
      'invalid',
      'Properties disk_format, container_format must be set prior to saving data.',
    )
  return mayFormatsDiffer ? 'any' : format
}

/**
 * Afterwards what was received is the image's, or staged for it. The row of the content is held while its file gets
 * its name, so that no collection can fall between; that of the project is not, since all its uploads would wait for the
 * disk. Throws `over-quota`, and `conflict` when the image is lost.
 */
export async function keepContent(
  images: Images,
  upload: Upload & {
    readonly owner: string
    readonly to: 'active' | 'uploading'
    /** No quota counts it; absent: the owner's does. */
    readonly isUncharged?: boolean
  },
  incoming: Incoming,
  content: ImageContent,
): Promise<void> {
  try {
    await images.db.transaction(async (tx) => {
      await countContent(tx, content.sha256)
      await incoming.keep(content.sha256)
      if (!upload.isUncharged) await chargeBytes(tx, upload.owner, images.limits, content.sizeBytes)
      const now = new Date(images.clock.now())
      if (!(await finishUpload(tx, upload, content, now))) throw lost(upload)
    })
  } catch (error) {
    // Some stores have it under its name from the flush on.
    await removeUnlessCounted(images, content.sha256).catch(() => undefined)
    throw error
  }
}

async function renew(images: Images, upload: Upload, nowMs: number): Promise<void> {
  const isOurs = await renewUpload(images.db, upload, new Date(nowMs + LEASE_MS))
  if (!isOurs) throw lost(upload)
}

/** The failure thrown when the image was deleted while it was filled, or another upload has taken it over. */
export function lost(upload: Upload): Failure {
  return new Failure(
    'conflict',
    `Image ${upload.imageId} was deleted during the upload, or another upload fills it now.`,
  )
}
