import { Readable } from 'node:stream'
import { Agent, type Dispatcher, request } from 'undici'
import { type ErrorKind, Failure, isFailure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { DiskImage, ImageFile, ImageSource } from '#drivers/driver.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** The service opens a file before it answers. */
const HEADERS_TIMEOUT_MS = 30_000
/** Between two chunks, not for the whole content. */
const IDLE_TIMEOUT_MS = 60_000
/** A content is hashed as it comes, and is on disk before the answer. */
const STORED_TIMEOUT_MS = 600_000
const CONNECTIONS_MAX = 8
const STORED = 204

/** The image that a server is to be saved in. */
export interface ImageTarget {
  readonly imageId: string
  /** Proof for the image service that this cell may fill this image now. */
  readonly ticket: string
}

/**
 * Reads and fills images of the gateways' image service, with the tickets that came with the work. Follows no
 * redirect: a ticket goes to the configured address only. The reader of a content checks its hash.
 */
export class ImageClient implements ImageSource, AsyncDisposable {
  readonly #baseUrl: string
  readonly #agent: Agent

  /** `baseUrl` such as `http://127.0.0.1:8774/image`. */
  constructor(baseUrl: string) {
    this.#baseUrl = withoutTrailing(baseUrl, '/')
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: IDLE_TIMEOUT_MS,
    })
  }

  /**
   * The content, exactly as long as the image states. Throws `not-found`, `unauthenticated` for a ticket that has
   * expired, `invalid` for a content of another size, `unavailable` when the service does not answer or breaks off.
   */
  async open(image: ImageFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { statusCode, headers, body } = await this.#ask(image, signal)
    const failure = failureOf(image, statusCode, headers['content-length'])
    if (failure === undefined) return exactly(body, image)
    body.on('error', () => undefined).destroy()
    throw failure
  }

  /**
   * Afterwards the image is active with the disk's content; an image that is active already is not changed. Throws
   * `not-found` for a deleted image, `unauthenticated`, `over-quota`, `invalid` for a content that is refused,
   * `unavailable` when the service does not answer or breaks off.
   */
  async fill(
    { imageId, ticket }: ImageTarget,
    disk: DiskImage,
    signal: AbortSignal,
  ): Promise<void> {
    const url = `${this.#baseUrl}/internal/images/${encodeURIComponent(imageId)}/file`
    try {
      const { statusCode, body } = await request(url, {
        dispatcher: this.#agent,
        method: 'PUT',
        headers: {
          'x-weir-image-ticket': ticket,
          'x-weir-disk-format': disk.diskFormat,
          'content-type': 'application/octet-stream',
          'content-length': String(disk.sizeBytes),
        },
        body: Readable.from(disk.content()),
        headersTimeout: STORED_TIMEOUT_MS,
        signal,
      })
      const said = await body.text()
      if (statusCode !== STORED) throw refusalOf(imageId, statusCode, said)
    } catch (error) {
      signal.throwIfAborted()
      if (isFailure(error)) throw error
      throw unavailable({ id: imageId }, error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #ask(image: ImageFile, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const url = `${this.#baseUrl}/internal/images/${encodeURIComponent(image.id)}/file`
    try {
      return await request(url, {
        dispatcher: this.#agent,
        headers: { 'x-weir-image-ticket': image.ticket },
        signal,
      })
    } catch (error) {
      signal.throwIfAborted()
      throw unavailable(image, error)
    }
  }
}

/** The failure for a content that the service did not accept. */
function refusalOf(imageId: string, status: number, said: string): Failure {
  const detail = `the image service answered ${status}: ${said.slice(0, DETAIL_MAX)}`
  const kind = KIND_OF_REFUSAL[status] ?? 'unavailable'
  return new Failure(kind, `Image ${imageId} could not be filled.`, { detail })
}

const DETAIL_MAX = 200
const KIND_OF_REFUSAL: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'over-quota',
  404: 'not-found',
  413: 'too-large',
}

function failureOf(
  image: ImageFile,
  status: number,
  length: string | string[] | undefined,
): Failure | undefined {
  if (status === 401)
    return new Failure(
      'unauthenticated',
      `The ticket for image ${image.id} has expired or was revoked.`,
    )
  if (status === 404) return new Failure('not-found', `Image ${image.id} no longer exists.`)
  if (status !== 200)
    return new Failure('unavailable', `Image ${image.id} cannot be read now.`, {
      detail: `the image service answered ${status}`,
    })
  if (length === undefined || Number(length) === image.sizeBytes) return undefined
  return new Failure('invalid', `Image ${image.id} has changed its size.`, {
    detail: `${length.toString()} bytes instead of ${image.sizeBytes}`,
  })
}

/** Stops a content that is longer than it should be before it fills the host's disk. */
async function* exactly(
  body: AsyncIterable<Uint8Array>,
  image: ImageFile,
): AsyncGenerator<Uint8Array> {
  let left = image.sizeBytes
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await nextChunk(chunks, image)
      if (next.done === true) break
      left -= next.value.byteLength
      if (left < 0)
        throw new Failure(
          'invalid',
          `Image ${image.id} is larger than its ${image.sizeBytes} bytes.`,
        )
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
  if (left > 0) throw unavailable(image, new Error(`${left} bytes are missing`))
}

async function nextChunk(
  chunks: AsyncIterator<Uint8Array>,
  image: ImageFile,
): Promise<IteratorResult<Uint8Array>> {
  try {
    return await chunks.next()
  } catch (error) {
    throw unavailable(image, error)
  }
}

function unavailable(image: { readonly id: string }, cause: unknown): Failure {
  return new Failure('unavailable', `Image ${image.id} cannot be read now.`, { cause })
}
