import { type Dispatcher, request } from 'undici'
import { Failure, isFailure } from '#common/errors.ts'
import type { ImageFile } from '#drivers/driver.ts'

/** A service from which contents are read. */
export interface ImagePlace {
  /**
   * The bytes of the content behind the first `from`. Throws `unavailable` where another place, or the same one later, may
   * have them, as the bytes do.
   */
  open(image: ImageFile, from: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}

/** Of one request; `url` and headers besides the range. */
export interface ContentRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
}

const WHOLE = 200
const PARTIAL = 206

/** The answer to a request for the bytes behind the first `from`. Throws `unavailable` when there is none. */
export async function askForContent(
  image: ImageFile,
  from: number,
  { url, headers = {}, dispatcher }: ContentRequest,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const range = from === 0 ? {} : { range: `bytes=${from}-` }
  try {
    return await request(url, { dispatcher, headers: { ...headers, ...range }, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw unavailable(image, error)
  }
}

/**
 * The bytes behind the first `from` of an answer, also where the service sent the whole content. Throws `unauthenticated`,
 * `not-found`, `invalid` for a content of another size, and `unavailable` for any other status.
 */
export function contentOf(
  image: ImageFile,
  from: number,
  { statusCode, headers, body }: Dispatcher.ResponseData,
): AsyncIterable<Uint8Array> {
  const failure = failureOf(image, from, statusCode, headers['content-length'])
  if (failure === undefined) return bytesBehind(image, body, statusCode === PARTIAL ? 0 : from)
  body.on('error', () => undefined).destroy()
  throw failure
}

async function* bytesBehind(
  image: ImageFile,
  body: AsyncIterable<Uint8Array>,
  skipped: number,
): AsyncGenerator<Uint8Array> {
  let left = skipped
  try {
    for await (const chunk of body) {
      const rest = chunk.subarray(Math.min(left, chunk.byteLength))
      left -= chunk.byteLength - rest.byteLength
      if (rest.byteLength > 0) yield rest
    }
  } catch (error) {
    throw isFailure(error) ? error : unavailable(image, error)
  }
}

function failureOf(
  image: ImageFile,
  from: number,
  status: number,
  length: string | string[] | undefined,
): Failure | undefined {
  if (status === 401)
    return new Failure(
      'unauthenticated',
      `The ticket for image ${image.id} has expired or was revoked.`,
    )
  if (status === 404) return new Failure('not-found', `Image ${image.id} no longer exists.`)
  if (status !== WHOLE && (status !== PARTIAL || from === 0))
    return new Failure('unavailable', `Image ${image.id} cannot be read now.`, {
      detail: `the image service answered ${status}`,
    })
  const expected = status === PARTIAL ? image.sizeBytes - from : image.sizeBytes
  if (length === undefined || Number(length) === expected) return undefined
  return new Failure('invalid', `Image ${image.id} has changed its size.`, {
    detail: `${length.toString()} bytes instead of ${expected}`,
  })
}

/** The failure for a content that may be there later, or elsewhere. */
export function unavailable(image: { readonly id: string }, cause: unknown): Failure {
  return new Failure('unavailable', `Image ${image.id} cannot be read now.`, { cause })
}
