import type { Dispatcher } from 'undici'
import { isFailure } from '#common/errors.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { askForContent, contentOf, type ImagePlace } from './image-place.ts'

const ELSEWHERE = 307

/**
 * The image service of one gateway. It may send the reader to its store, where the ticket does not go; no other redirect is
 * followed.
 */
export class GatewayPlace implements ImagePlace {
  readonly #url: string
  readonly #dispatcher: Dispatcher

  /** `url` of the service, without a trailing slash. */
  constructor(url: string, dispatcher: Dispatcher) {
    this.#url = url
    this.#dispatcher = dispatcher
  }

  async open(
    image: ImageFile,
    from: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const answer = await this.#ask(image, from, { 'x-weir-image-direct': 'yes' }, signal)
    if (answer.statusCode !== ELSEWHERE) return contentOf(image, from, answer)
    await answer.body.dump()
    const { location } = answer.headers
    try {
      const url = String(location)
      const found = await askForContent(image, from, { url, dispatcher: this.#dispatcher }, signal)
      return contentOf(image, from, found)
    } catch (error) {
      // The store may be out of a host's reach, or refuse the URL: the gateway has the bytes too.
      if (!isFailure(error)) throw error
      return contentOf(image, from, await this.#ask(image, from, {}, signal))
    }
  }

  #ask(
    image: ImageFile,
    from: number,
    more: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const url = fileUrl(this.#url, image.id)
    const headers = { 'x-weir-image-ticket': image.ticket, ...more }
    return askForContent(image, from, { url, headers, dispatcher: this.#dispatcher }, signal)
  }
}

/** Where a gateway's image service has the content of an image for holders of a ticket. */
export function fileUrl(serviceUrl: string, imageId: string): string {
  return `${serviceUrl}/internal/images/${encodeURIComponent(imageId)}/file`
}
