import type { Static } from 'typebox'
import { type Dispatcher, request } from 'undici'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { CELL_OPERATIONS } from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import { askForContent, contentOf, type ImagePlace, unavailable } from './image-place.ts'

/** While the cache fetches the image; it answers after some seconds at the latest. */
const FETCHING = 202
const PAUSE_MS = 100
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
