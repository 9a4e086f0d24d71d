import { createHash, randomUUID } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { ImageContent } from '../../db/image.ts'
import { countContent } from '../../db/image-contents.ts'
import {
  abandonUpload,
  beginUpload,
  finishUpload,
  renewUpload,
  type Upload,
} from '../../db/image-uploads.ts'
import type { Requester } from '../requester.ts'
import type { Incoming } from './content-store.ts'
import { ContentSampler } from './formats/content-sampler.ts'
import { DISK_FORMATS, type DiskFormat } from './formats/format.ts'
import { inspectContent } from './formats/inspect.ts'
import { withIdleLimit } from './idle-limit.ts'
import type { Images } from './images.ts'
import { ownImage } from './visible-image.ts'

/** An upload not renewed for this long is dead: its process is gone. */
const LEASE_MS = 120_000
const RENEW_EVERY_MS = 30_000
/** A client that sends nothing for this long is given up. Shorter than the lease, so that no upload outlives it. */
const IDLE_MAX_MS = 60_000

export interface ContentUpload {
  readonly imageId: string
  readonly body: AsyncIterable<Uint8Array>
  /** Content-Length, where the client sent one. */
  readonly declaredBytes: number | undefined
}

/**
 * Afterwards the image is active with the content. On any failure it is `queued` again and nothing of the upload
 * is left. Throws `too-large`, `conflict` unless the image waits for content, `invalid` for what its format forbids.
 */
export async function uploadContent(
  images: Images,
  requester: Requester,
  given: ContentUpload,
): Promise<void> {
  const image = await ownImage(images, requester, given.imageId, 'upload to')
  const format = formatOf(image)
  refuseAbove(images.sizeMaxBytes, given.declaredBytes ?? 0)
  const upload: Upload = { imageId: image.id, uploadId: randomUUID() }
  const now = images.clock.now()
  const begun = await beginUpload(images.db, upload, new Date(now), new Date(now + LEASE_MS))
  if (!begun)
    throw new Failure('conflict', `Image ${image.id} already has data or is being uploaded.`)
  try {
    await using incoming = await images.store.receive()
    const content = await receive(images, upload, incoming, { ...given, format })
    await activate(images, upload, incoming, content)
  } catch (error) {
    await abandonUpload(images.db, upload, new Date(images.clock.now()))
    throw error
  }
}

function formatOf(image: {
  readonly diskFormat: string | null
  readonly containerFormat: string | null
}): DiskFormat {
  const format = DISK_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined || image.containerFormat === null)
    throw new Failure(
      'invalid',
      'Properties disk_format, container_format must be set prior to saving data.',
    )
  return format
}

async function receive(
  images: Images,
  upload: Upload,
  incoming: Incoming,
  given: ContentUpload & { readonly format: DiskFormat },
): Promise<ImageContent> {
  const hashes = {
    md5: createHash('md5'),
    sha256: createHash('sha256'),
    sha512: createHash('sha512'),
  }
  const sampler = new ContentSampler()
  let sizeBytes = 0
  let renewedAt = images.clock.now()
  let isLookedAt = false
  for await (const chunk of withIdleLimit(given.body, IDLE_MAX_MS)) {
    sizeBytes += chunk.length
    refuseAbove(images.sizeMaxBytes, sizeBytes)
    for (const hash of Object.values(hashes)) hash.update(chunk)
    sampler.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    // Refused as soon as the front shows it; a fixed VHD only shows at its end.
    if (!isLookedAt && sampler.isHeadFull && given.format !== 'vhd') {
      isLookedAt = true
      inspectContent(given.format, sampler.sample())
    }
    await incoming.write(chunk)
    if (images.clock.now() - renewedAt < RENEW_EVERY_MS) continue
    renewedAt = images.clock.now()
    await renew(images, upload, renewedAt)
  }
  if (given.declaredBytes !== undefined && given.declaredBytes !== sizeBytes)
    throw new Failure('invalid', 'The upload ended before all of its data was received.')
  const virtualSizeBytes = inspectContent(given.format, sampler.sample())
  await incoming.flush()
  const digests = {
    md5: hashes.md5.digest('hex'),
    sha256: hashes.sha256.digest('hex'),
    sha512: hashes.sha512.digest('hex'),
  }
  return { sizeBytes, virtualSizeBytes, ...digests }
}

/** The row of the content is held while its file gets its name, so that no collection can fall between. */
async function activate(
  images: Images,
  upload: Upload,
  incoming: Incoming,
  content: ImageContent,
): Promise<void> {
  await images.db.transaction(async (tx) => {
    const now = new Date(images.clock.now())
    if (!(await finishUpload(tx, upload, content, now))) throw lost(upload)
    await countContent(tx, content.sha256)
    await incoming.keep(content.sha256)
  })
}

async function renew(images: Images, upload: Upload, nowMs: number): Promise<void> {
  const isOurs = await renewUpload(images.db, upload, new Date(nowMs + LEASE_MS))
  if (!isOurs) throw lost(upload)
}

function lost(upload: Upload): Failure {
  return new Failure('conflict', `Image ${upload.imageId} was deleted during the upload.`)
}

function refuseAbove(sizeMaxBytes: number, sizeBytes: number): void {
  if (sizeBytes > sizeMaxBytes)
    throw new Failure('too-large', `Image size limit of ${sizeMaxBytes} bytes exceeded.`)
}
