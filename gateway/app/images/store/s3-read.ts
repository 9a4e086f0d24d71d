import { Failure } from '#common/errors.ts'
import type { S3Client } from '../../../s3/s3-client.ts'
import type { Part, StoredContent } from './content-store.ts'

/** How often in turn a download may break off without a further byte. */
const BREAKS_MAX = 3
const PARTIAL = 206
const TOTAL = /\/(\d+)$/

/**
 * The object, or a part, as a stream; a download that breaks off continues where it was. Throws `unavailable` where S3 does
 * not answer or has no such object, as the stream does.
 */
export async function openObject(
  client: S3Client,
  key: string,
  part?: Part,
): Promise<StoredContent> {
  const abort = new AbortController()
  const answer = await ask(client, key, part, abort.signal)
  const { sizeBytes } = answer
  const last = Math.min(part?.last ?? sizeBytes - 1, sizeBytes - 1)
  const chunks = resumed(client, key, { first: part?.first ?? 0, last }, answer, abort.signal)
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        abort.abort()
        await chunks.return(undefined).catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return { sizeBytes, stream }
}

/** The bytes of a small part; none for a part that ends before it begins. */
export async function readObject(client: S3Client, key: string, part: Part): Promise<Buffer> {
  if (part.last < part.first) return Buffer.alloc(0)
  const { stream } = await openObject(client, key, part)
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

interface Answer {
  readonly sizeBytes: number
  readonly body: AsyncIterable<Uint8Array>
}

async function ask(
  client: S3Client,
  key: string,
  part: Part | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const headers = part === undefined ? {} : { range: `bytes=${part.first}-${part.last}` }
  const asked = { operation: 'read', method: 'GET', key, headers } as const
  const { statusCode, headers: found, body } = await client.open(asked, signal)
  const size = statusCode === PARTIAL ? TOTAL.exec(String(found['content-range']))?.[1] : undefined
  const sizeBytes = Number(size ?? found['content-length'])
  if (part === undefined || statusCode === PARTIAL) return { sizeBytes, body }
  body.on('error', () => undefined).destroy()
  throw new Failure('unavailable', 'The image content cannot be read right now.', {
    detail: `${client.settings.endpoint} answered ${statusCode} instead of a part of ${key}`,
  })
}

async function* resumed(
  client: S3Client,
  key: string,
  { first, last }: Part,
  answer: Answer,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, undefined> {
  let next = first
  let body = answer.body
  let breaks = 0
  do {
    try {
      for await (const chunk of body) {
        next += chunk.length
        breaks = 0
        yield chunk
      }
      if (next <= last) throw new Error(`${last + 1 - next} bytes are missing`)
    } catch (error) {
      breaks += 1
      if (breaks > BREAKS_MAX || signal.aborted)
        throw new Failure('unavailable', 'The image content cannot be read right now.', {
          cause: error,
        })
      body = (await ask(client, key, { first: next, last }, signal)).body
    }
  } while (next <= last)
}
