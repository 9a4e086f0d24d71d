import type { Static } from 'typebox'
import { type Dispatcher, request } from 'undici'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { CELL_OPERATIONS } from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import type { ImageMaking } from '#openapi/wire/instance.ts'
import { askForContent, contentOf, type ImagePlace, unavailable } from './image-place.ts'

/** While the cache fetches the image; it answers after some seconds at the latest. */
const FETCHING = 202
const PAUSE_MS = 100
/** The header that says what an image to be pinned can be made of, as JSON. */
export const MADE_OF = 'x-weir-image-made-of'
const TEXT_MAX = 200
const ANSWER = 'The answer of the image cache'

const Preloaded = CELL_OPERATIONS['image.preload'].answer
export type Preloaded = Static<typeof Preloaded>
const FoundInCache = CELL_OPERATIONS['image.cached'].answer
export type FoundInCache = Static<typeof FoundInCache>

/** One of the image caches of the cell. The gateways may have what it refuses: all of its failures are `unavailable`. */
export class CachePlace implements ImagePlace {
  readonly #url: string
  readonly #dispatcher: Dispatcher
  readonly #clock: Pick<Clock, 'sleep'>

  constructor(url: string, dispatcher: Dispatcher, clock: Pick<Clock, 'sleep'>) {
    this.#url = url
    this.#dispatcher = dispatcher
    this.#clock = clock
  }

  async open(
    image: ImageFile,
    from: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const asked = {
      url: this.#urlOf(image),
      headers: headersOf(image),
      dispatcher: this.#dispatcher,
    }
    for (;;) {
      const answer = await askForContent(image, from, asked, signal)
      if (answer.statusCode !== FETCHING) return contentOrUnavailable(image, from, answer)
      await answer.body.dump()
      await this.#clock.sleep(PAUSE_MS, signal)
    }
  }

  /** Afterwards the cache has the image, or fetches it. Throws `unavailable` when it can do neither. */
  async preload(image: ImageFile, signal: AbortSignal): Promise<Preloaded> {
    const what = `The image cache cannot fetch image ${image.id} now.`
    return checked(Preloaded, await this.#json('POST', '', image, { what, signal }), ANSWER)
  }

  /** The same, and the cache keeps the image for the server. `pass`: for its pins. */
  async pin(
    serverId: string,
    { id, sha256, sizeBytes, ticket, madeOf }: ImageFile & { readonly madeOf?: ImageMaking },
    pass: string,
    signal: AbortSignal,
  ): Promise<Preloaded> {
    const path = `${serverId}/${encodeURIComponent(id)}/${sha256}/${sizeBytes}`
    const headers = {
      ...{ 'x-weir-cache-pass': pass, 'x-weir-image-ticket': ticket },
      // A cache of a former release does not read it.
      ...(madeOf && { [MADE_OF]: JSON.stringify(madeOf) }),
    }
    const { statusCode, text } = await this.#askPins('PUT', path, headers, signal)
    if (statusCode === 200) return checked(Preloaded, JSON.parse(text), ANSWER)
    // The cache says why, such as that it has no room; the cell's processes alone may ask it for pins.
    throw new Failure('unavailable', text.slice(0, TEXT_MAX).trim(), {
      detail: `${this.#url} answered ${statusCode}`,
    })
  }

  /** Afterwards the cache keeps no image for the server but the one of this SHA-256, if it is named. Throws `unavailable`. */
  async unpin(serverId: string, pass: string, signal: AbortSignal, except?: string): Promise<void> {
    const path = except === undefined ? serverId : `${serverId}?except=${except}`
    const headers = { 'x-weir-cache-pass': pass }
    const { statusCode, text } = await this.#askPins('DELETE', path, headers, signal)
    if (statusCode === 204) return
    throw new Failure('unavailable', 'The image cache does not answer as one does.', {
      detail: `${this.#url} answered ${statusCode}: ${text.slice(0, TEXT_MAX)}`,
    })
  }

  async #askPins(
    method: 'PUT' | 'DELETE',
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly statusCode: number; readonly text: string }> {
    try {
      const url = `${this.#url}/v1/pins/${path}`
      const answer = await request(url, { dispatcher: this.#dispatcher, method, headers, signal })
      return { statusCode: answer.statusCode, text: await answer.body.text() }
    } catch (cause) {
      throw new Failure('unavailable', 'An image cache of the cell does not answer.', { cause })
    }
  }

  /** What the cache has of the image. Throws `unavailable` when it does not answer. */
  async find(image: ImageFile, signal: AbortSignal): Promise<FoundInCache> {
    const what = 'The image cache does not answer as one does.'
    return checked(FoundInCache, await this.#json('GET', '/state', image, { what, signal }), ANSWER)
  }

  /** Afterwards the cache does not have the image unless what it has is what it should be. */
  async reportDamaged(image: ImageFile, signal: AbortSignal): Promise<void> {
    await this.#ask('DELETE', image, signal)
  }

  async #json(
    method: 'GET' | 'POST',
    path: string,
    image: ImageFile,
    { what, signal }: { readonly what: string; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { statusCode, text } = await this.#ask(method, image, signal, path)
    if (statusCode === 200) return JSON.parse(text)
    throw new Failure('unavailable', what, {
      detail: `${this.#url} answered ${statusCode}: ${text.slice(0, TEXT_MAX)}`,
    })
  }

  async #ask(
    method: 'GET' | 'POST' | 'DELETE',
    image: ImageFile,
    signal: AbortSignal,
    path = '',
  ): Promise<{ readonly statusCode: number; readonly text: string }> {
    try {
      const { statusCode, body } = await request(this.#urlOf(image) + path, {
        dispatcher: this.#dispatcher,
        method,
        headers: headersOf(image),
        signal,
      })
      return { statusCode, text: await body.text() }
    } catch (error) {
      signal.throwIfAborted()
      throw unavailable(image, error)
    }
  }

  #urlOf({ id, sha256, sizeBytes }: ImageFile): string {
    return `${this.#url}/v1/images/${encodeURIComponent(id)}/${sha256}/${sizeBytes}`
  }
}

function headersOf({ cache, ticket }: ImageFile): Readonly<Record<string, string>> {
  return { 'x-weir-cache-pass': cache?.pass ?? '', 'x-weir-image-ticket': ticket }
}

function contentOrUnavailable(
  image: ImageFile,
  from: number,
  answer: Dispatcher.ResponseData,
): AsyncIterable<Uint8Array> {
  try {
    return contentOf(image, from, answer)
  } catch (error) {
    throw unavailable(image, error)
  }
}
