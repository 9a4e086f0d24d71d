import { type Static, Type } from 'typebox'
import { type Dispatcher, request } from 'undici'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import type { KeptAnswer, SavedDisk } from '../compute/compute.ts'
import type { ImageTarget } from './image-client.ts'

/** A content is hashed as it comes, and is on disk before the answer. */
export const STORED_TIMEOUT_MS = 600_000

const Answer = Type.Object({ kept: Type.Boolean(), filled: Type.Boolean() })
const DETAIL_MAX = 200
const KIND_OF_REFUSAL: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'over-quota',
  404: 'not-found',
  413: 'too-large',
}

/** Asks one gateway as `ImageFiller.keep`. One of a former release throws `not-found`. */
export async function keepAt(
  dispatcher: Dispatcher,
  serviceUrl: string,
  { imageId, ticket, changesOf }: ImageTarget,
  { hostId, diskFormat, sizeBytes, md5, sha256, sha512 }: SavedDisk,
  signal: AbortSignal,
): Promise<KeptAnswer> {
  const body = JSON.stringify({
    ...{ host_id: hostId, disk_format: diskFormat, changes_of: changesOf ?? null },
    ...{ size: sizeBytes, md5, sha256, sha512 },
  })
  const headers = { 'x-weir-image-ticket': ticket, 'content-type': 'application/json' }
  const asked = { dispatcher, method: 'POST', headers, body, signal } as const
  const limits = { headersTimeout: STORED_TIMEOUT_MS }
  const { kept, filled } = await answerOf(imageId, keptUrl(serviceUrl, imageId), {
    ...asked,
    ...limits,
  })
  return { isKept: kept, isFilled: filled }
}

/** Asks one gateway as `ImageFiller.isKept`. */
export async function isKeptAt(
  dispatcher: Dispatcher,
  serviceUrl: string,
  { imageId, ticket }: Pick<ImageTarget, 'imageId' | 'ticket'>,
  hostId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = { 'x-weir-image-ticket': ticket }
  const url = `${keptUrl(serviceUrl, imageId)}?host=${hostId}`
  return (await answerOf(imageId, url, { dispatcher, headers, signal })).kept
}

function keptUrl(serviceUrl: string, imageId: string): string {
  return `${serviceUrl}/internal/images/${encodeURIComponent(imageId)}/kept`
}

async function answerOf(
  imageId: string,
  url: string,
  options: NonNullable<Parameters<typeof request>[1]>,
): Promise<Static<typeof Answer>> {
  const { statusCode, body } = await request(url, options)
  const text = await body.text()
  if (statusCode === 409)
    throw new Failure('conflict', `Image ${imageId} has to be filled by an upload.`, {
      detail: text.slice(0, DETAIL_MAX),
    })
  if (statusCode !== 200) throw refusalOf(imageId, statusCode, text)
  return checked(Answer, JSON.parse(text), 'The answer of the image service')
}

/** The failure for a content that the service did not accept. */
export function refusalOf(imageId: string, status: number, text: string): Failure {
  const detail = `the image service answered ${status}: ${text.slice(0, DETAIL_MAX)}`
  const kind = KIND_OF_REFUSAL[status] ?? 'unavailable'
  return new Failure(kind, `Image ${imageId} could not be filled.`, { detail })
}
