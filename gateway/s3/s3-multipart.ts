import { Failure } from '#common/errors.ts'
import type { S3Client } from './s3-client.ts'

/** What S3 needs to know of an upload in several parts to give it up. */
export interface S3Upload {
  readonly key: string
  readonly uploadId: string
}

const UPLOAD_ID = /<UploadId>([^<]{1,1024})<\/UploadId>/
const ETAG = /<ETag>([^<]{1,200})<\/ETag>/
/** No such upload: it is over. */
const GONE = 404
/** Of servers that give up uploads by themselves, and not on request. */
const NOT_OFFERED = [405, 501]

/** Afterwards S3 takes parts of an object of this key, which is not there before it is complete. */
export async function beginUpload(client: S3Client, key: string): Promise<S3Upload> {
  const asked = { operation: 'begin', method: 'POST', key, query: { uploads: '' } } as const
  const { text } = await client.ask(asked)
  const uploadId = UPLOAD_ID.exec(text)?.[1]
  if (uploadId === undefined) throw unexpected(client, 'an upload')
  return { key, uploadId }
}

/** Afterwards S3 has the nth part, counted from 1. Returns its tag. */
export async function putPart(
  client: S3Client,
  { key, uploadId }: S3Upload,
  nth: number,
  body: Uint8Array,
): Promise<string> {
  const query = { partNumber: String(nth), uploadId }
  const { headers } = await client.ask({ operation: 'put', method: 'PUT', key, query, body })
  const { etag } = headers
  if (typeof etag !== 'string') throw unexpected(client, 'a part')
  return etag
}

/** As `putPart`, with bytes of another object of the bucket. */
export async function copyPart(
  client: S3Client,
  { key, uploadId }: S3Upload,
  nth: number,
  from: { readonly key: string; readonly first: number; readonly last: number },
): Promise<string> {
  const { text } = await client.ask({
    operation: 'copy',
    method: 'PUT',
    key,
    query: { partNumber: String(nth), uploadId },
    headers: {
      'x-amz-copy-source': `/${client.settings.bucket}/${from.key}`,
      'x-amz-copy-source-range': `bytes=${from.first}-${from.last}`,
    },
    isSlow: true,
  })
  const etag = ETAG.exec(text)?.[1]
  if (etag === undefined) throw unexpected(client, 'a copied part')
  return etag.replaceAll('&quot;', '"')
}

/** Afterwards the object is there, of these parts in this order, which have so many bytes. */
export async function completeUpload(
  client: S3Client,
  { key, uploadId }: S3Upload,
  { tags, sizeBytes }: { readonly tags: readonly string[]; readonly sizeBytes: number },
): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
  )
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  try {
    await client.ask({
      operation: 'complete',
      method: 'POST',
      key,
      query: { uploadId },
      body: Buffer.from(body),
      isSlow: true,
    })
  } catch (error) {
    // A try whose answer was lost has completed it, and there is nothing left to complete.
    if ((await sizeOf(client, key)) !== sizeBytes) throw error
  }
}

/** Afterwards the parts of an upload that was not completed are gone. */
export async function abortUpload(client: S3Client, { key, uploadId }: S3Upload): Promise<void> {
  const expects = [GONE, ...NOT_OFFERED]
  const query = { uploadId }
  await client.ask({ operation: 'abort', method: 'DELETE', key, query, expects })
}

/** The bytes of an object; undefined where it is not there. */
export async function sizeOf(client: S3Client, key: string): Promise<number | undefined> {
  const asked = { operation: 'show', method: 'HEAD', key, expects: [GONE] } as const
  const { status, headers } = await client.ask(asked)
  return status === GONE ? undefined : Number(headers['content-length'])
}

/** Afterwards the object is not there. */
export async function removeObject(client: S3Client, key: string): Promise<void> {
  await client.ask({ operation: 'remove', method: 'DELETE', key, expects: [GONE] })
}

function unexpected({ settings }: S3Client, what: string): Failure {
  return new Failure('unavailable', 'The image store cannot be used right now.', {
    detail: `${settings.endpoint} does not know ${what}`,
  })
}
