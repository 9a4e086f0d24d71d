import { HttpRefusal } from './http-refusal.ts'
import type { RawRequest } from './operation.ts'

export interface OctetStream {
  readonly body: AsyncIterable<Uint8Array>
  /** Content-Length, where the client sent one. */
  readonly declaredBytes: number | undefined
}

/** The body of a request that carries bytes; refuses with 415 what declares to be something else, as Glance does. */
export function octetStream(raw: RawRequest): OctetStream {
  const type = raw.header('content-type')
  if (type !== undefined && !/^application\/octet-stream\b/i.test(type))
    throw new HttpRefusal(
      415,
      `Content-Type ${type} is not supported: send application/octet-stream.`,
    )
  const length = raw.header('content-length')
  return {
    body: raw.stream() ?? nothing(),
    declaredBytes: length === undefined ? undefined : Number(length),
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
