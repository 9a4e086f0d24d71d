import { Agent, type Dispatcher, request } from 'undici'
import { Failure } from '#common/errors.ts'
import type { ImageSource, ImageSpec } from '#drivers/driver.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** The service opens a file before it answers. */
const HEADERS_TIMEOUT_MS = 30_000
/** Between two chunks, not for the whole content. */
const IDLE_TIMEOUT_MS = 60_000
const CONNECTIONS_MAX = 8

/**
 * Reads image contents from the gateways' image service, with the ticket that came with a build. Follows no redirect:
 * the ticket goes to the configured address only. What the content is worth is checked by whoever reads it.
 */
export class ImageClient implements ImageSource, AsyncDisposable {
  readonly #baseUrl: string
  readonly #agent: Agent

  /** `baseUrl` such as `http://127.0.0.1:8774/image`. */
  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: IDLE_TIMEOUT_MS,
    })
  }

  /**
   * The content, exactly as long as the image says. Throws `not-found`, `unauthenticated` for a ticket that is no
   * longer good, `invalid` for a content of another size, `unavailable` when the service is silent or breaks off.
   */
  async open(image: ImageSpec, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { statusCode, headers, body } = await this.#ask(image, signal)
    const failure = failureOf(image, statusCode, headers['content-length'])
    if (failure === undefined) return exactly(body, image)
    body.on('error', () => undefined).destroy()
    throw failure
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #ask(image: ImageSpec, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
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

function failureOf(
  image: ImageSpec,
  status: number,
  length: string | string[] | undefined,
): Failure | undefined {
  if (status === 401)
    return new Failure('unauthenticated', `The ticket for image ${image.id} is no longer good.`)
  if (status === 404) return new Failure('not-found', `Image ${image.id} is not there any more.`)
  if (status !== 200)
    return new Failure('unavailable', `Image ${image.id} cannot be read now.`, {
      detail: `the image service answered ${status}`,
    })
  if (length === undefined || Number(length) === image.sizeBytes) return undefined
  return new Failure('invalid', `Image ${image.id} is not as large as it was.`, {
    detail: `${length.toString()} bytes instead of ${image.sizeBytes}`,
  })
}

/** Stops a content that is longer than it should be before it fills the host's disk. */
async function* exactly(
  body: AsyncIterable<Uint8Array>,
  image: ImageSpec,
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
  image: ImageSpec,
): Promise<IteratorResult<Uint8Array>> {
  try {
    return await chunks.next()
  } catch (error) {
    throw unavailable(image, error)
  }
}

function unavailable(image: ImageSpec, cause: unknown): Failure {
  return new Failure('unavailable', `Image ${image.id} cannot be read now.`, { cause })
}
