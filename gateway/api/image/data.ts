import type { operations } from '#openapi/image.gen.ts'
import { fillSnapshot } from '../../app/images/fill-snapshot.ts'
import type { HostReader } from '../../app/images/host-content.ts'
import { keepSnapshot, keepsSnapshot } from '../../app/images/keep-snapshot.ts'
import {
  contentByTicket,
  directUrl,
  openStream,
  readableContent,
} from '../../app/images/read-content.ts'
import { uploadContent } from '../../app/images/upload-content.ts'
import type { ImageContent } from '../../db/image.ts'
import { byteRange } from '../../http/byte-range.ts'
import { isNoneMatch } from '../../http/entity-tag.ts'
import { octetStream } from '../../http/octet-stream.ts'
import type { Answer, Call, Handler } from '../../http/operation.ts'

/** GET /internal/images/{image_id}/file */
export const downloadImageWithTicket: Handler<operations['downloadImageWithTicket']> = async (
  call,
) => {
  const { app, params, raw } = call
  const ticket = raw.header('x-weir-image-ticket') ?? ''
  const content = await contentByTicket(app.images, params.image_id, ticket)
  if (raw.header('x-weir-image-direct') === 'yes') {
    const url = await directUrl(app.images, content)
    if (url !== undefined) return { status: 307, headers: { Location: url } }
  }
  return contentAnswer(call, content)
}

/** GET /v2/images/{image_id}/file */
export const downloadImage: Handler<operations['downloadImage']> = async (call) => {
  const { app, context, params, raw } = call
  const content = await readableContent(app.images, context, params.image_id)
  if (content === null) return { status: 204 }
  if (!isNoneMatch(raw.header('if-none-match'), contentTag(content)))
    return { status: 304, headers: { ETag: contentTag(content) } }
  return contentAnswer(call, content)
}

/** PUT /internal/images/{image_id}/file */
export const uploadImageWithTicket: Handler<operations['uploadImageWithTicket']> = async (call) => {
  const { app, params, raw } = call
  const isFilled = await fillSnapshot(app.images, {
    imageId: params.image_id,
    ...octetStream(raw),
    ticket: raw.header('x-weir-image-ticket') ?? '',
    diskFormat: raw.header('x-weir-disk-format') ?? '',
    changesOf: raw.header('x-weir-changes-of') ?? null,
  })
  return { status: 204, headers: isFilled ? { 'X-Weir-Image-Filled': 'yes' } : {} }
}

/** POST /internal/images/{image_id}/kept */
export const keepImageWithTicket: Handler<operations['keepImageWithTicket']> = async (call) => {
  const { app, body, params, raw } = call
  const { isKept, isFilled } = await keepSnapshot(app.images, hostReader(call), {
    ...{ imageId: params.image_id, ticket: raw.header('x-weir-image-ticket') ?? '' },
    ...{ hostId: body.host_id, diskFormat: body.disk_format, changesOf: body.changes_of },
    ...{ sizeBytes: body.size, md5: body.md5, sha256: body.sha256, sha512: body.sha512 },
  })
  return { body: { kept: isKept, filled: isFilled } }
}

/** GET /internal/images/{image_id}/kept */
export const showKeptImage: Handler<operations['showKeptImage']> = async (call) => {
  const { app, params, query, raw } = call
  const ticket = raw.header('x-weir-image-ticket') ?? ''
  const asked = { imageId: params.image_id, ticket, hostId: query.host }
  return { body: { kept: await keepsSnapshot(app.images, asked), filled: false } }
}

/** PUT /v2/images/{image_id}/file */
export const uploadImage: Handler<operations['uploadImage']> = async (call) => {
  const { app, context, params, raw } = call
  const upload = { imageId: params.image_id, ...octetStream(raw) }
  await uploadContent(app.images, context, upload)
  return {}
}

/** The bytes, or the range of them that the request names. */
async function contentAnswer(
  call: Pick<Call, 'app' | 'context' | 'raw'> & { readonly params: { readonly image_id: string } },
  content: ImageContent,
): Promise<Pick<Answer, 'status' | 'stream' | 'headers'>> {
  const { app, params, raw } = call
  const headers = contentHeaders(content)
  const part = byteRange(raw.header('range'), content.sizeBytes)
  const kept = { imageId: params.image_id, content }
  const stream = await openStream(app.images, hostReader(call), kept, part)
  if (part === undefined) return { stream, headers }
  return { status: 206, stream, headers: { ...headers, ...partHeaders(content, part) } }
}

/** What reads contents that hosts keep, for this request. */
function hostReader({ app, context }: Pick<Call, 'app' | 'context'>): HostReader {
  const { db, cells, askHost, clock } = app.compute
  return { db, cells, askHost, clock, work: context }
}

/** Headers of a download, as Glance sends them: the MD5 in hexadecimal. */
function contentHeaders(content: ImageContent): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(content.sizeBytes),
    'Content-MD5': content.md5,
    'Accept-Ranges': 'bytes',
    ETag: contentTag(content),
  }
}

/** The entity tag of a content (RFC 9110): the same bytes have the same. */
function contentTag({ sha256 }: ImageContent): string {
  return `"${sha256}"`
}

/** What differs when only a part is sent. */
function partHeaders(
  { sizeBytes }: ImageContent,
  { first, last }: { readonly first: number; readonly last: number },
): Readonly<Record<string, string>> {
  return {
    'Content-Length': String(last - first + 1),
    'Content-Range': `bytes ${first}-${last}/${sizeBytes}`,
  }
}
