import { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { type Clock, systemClock } from '#common/clock.ts'
import { isFailure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { DiskImage, ImageFile, ImageSource } from '#drivers/driver.ts'
import type { KeptAnswer, SavedDisk } from '../compute/compute.ts'
import { CachePlace } from './cache-place.ts'
import { download } from './download.ts'
import { fileUrl, GatewayPlace } from './gateway-place.ts'
import { inOrder } from './image-caches.ts'
import { type ImagePlace, unavailable } from './image-place.ts'
import { isKeptAt, keepAt, refusalOf, STORED_TIMEOUT_MS } from './kept-images.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** Before the first byte, and between two; a service that takes longer is given up for the next. */
const RESPONSE_TIMEOUT_MS = 15_000
const CONNECTIONS_MAX = 8
const STORED = 204

/** The image that a server is to be saved in. */
export interface ImageTarget {
  readonly imageId: string
  /** Proof for the image service that this cell may fill this image now. */
  readonly ticket: string
  /** The image whose changes the disk is; absent: the disk is whole. */
  readonly changesOf?: string
  /** The host may keep the content, and gateways read it there. */
  readonly mayKeep?: true
}

export interface ImageClientOptions {
  readonly clock?: Pick<Clock, 'sleep'>
  readonly responseTimeoutMs?: number
}

/**
 * Reads and fills images of the gateways' image services, with the tickets that came with the work: at the gateway that
 * served last, and where it does not answer or breaks off, at the next. A cell's cache that the work names is asked before
 * them. The reader of a content checks its hash.
 */
export class ImageClient implements ImageSource, AsyncDisposable {
  readonly #urls: readonly string[]
  readonly #places: readonly ImagePlace[]
  readonly #agent: Agent
  readonly #clock: Pick<Clock, 'sleep'>
  #first = 0

  /** `urls` such as `http://127.0.0.1:8774/image`, of gateways of one deployment. */
  constructor(urls: readonly string[], options: ImageClientOptions = {}) {
    const { clock = systemClock, responseTimeoutMs = RESPONSE_TIMEOUT_MS } = options
    this.#urls = urls.map((url) => withoutTrailing(url, '/'))
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: responseTimeoutMs,
      bodyTimeout: responseTimeoutMs,
    })
    this.#places = this.#urls.map((url) => new GatewayPlace(url, this.#agent))
    this.#clock = clock
  }

  /**
   * The content, exactly as long as the image states. Throws `not-found`, `unauthenticated` for a ticket that has
   * expired, `invalid` for a content of another size, `unavailable` when no gateway has all of it for now.
   */
  async open(image: ImageFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const gateways = this.#inOrder(this.#places)
    return download([...this.#caches(image), ...gateways], image, signal, {
      clock: this.#clock,
      onServed: (place) => {
        const nth = this.#places.indexOf(place)
        if (nth >= 0) this.#first = nth
      },
    })
  }

  /** Afterwards none of the cell's caches that answer serves the image unless its bytes are what they should be. */
  async reportDamaged(image: ImageFile, signal: AbortSignal): Promise<void> {
    for (const cache of this.#caches(image)) {
      try {
        await cache.reportDamaged(image, signal)
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
      }
    }
  }

  /**
   * Afterwards the image is active with the disk's content; an image that is active already is not changed, and the answer
   * is then false, as it is from gateways of a former release. Throws `not-found` for a deleted image, `unauthenticated`, `over-quota`, `invalid` for a content that is refused,
   * `unavailable` when no gateway has taken all of it.
   */
  async fill(target: ImageTarget, disk: DiskImage, signal: AbortSignal): Promise<boolean> {
    let last: unknown = new Error('no image service is set')
    for (const url of this.#inOrder(this.#urls)) {
      try {
        const isFilled = await this.#fillAt(url, target, disk, signal)
        this.#first = this.#urls.indexOf(url)
        return isFilled
      } catch (error) {
        signal.throwIfAborted()
        if (isFailure(error) && error.kind !== 'unavailable') throw error
        last = error
      }
    }
    throw isFailure(last) ? last : unavailable({ id: target.imageId }, last)
  }

  /** As `ImageFiller.keep`; where one of the gateways does not answer, it may do what was asked later. */
  async keep(target: ImageTarget, saved: SavedDisk, signal: AbortSignal): Promise<KeptAnswer> {
    let unanswered: unknown
    for (const url of this.#inOrder(this.#urls)) {
      try {
        const answer = await keepAt(this.#agent, url, target, saved, signal)
        this.#first = this.#urls.indexOf(url)
        return answer
      } catch (error) {
        signal.throwIfAborted()
        const isRefused = isFailure(error) && error.kind !== 'unavailable'
        if (isRefused && unanswered === undefined) throw error
        if (isRefused) break
        unanswered = error
      }
    }
    throw unavailable({ id: target.imageId }, unanswered)
  }

  /** As `ImageFiller.isKept`. */
  async isKept(
    target: Pick<ImageTarget, 'imageId' | 'ticket'>,
    hostId: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    let last: unknown = new Error('no image service is set')
    for (const url of this.#inOrder(this.#urls)) {
      try {
        return await isKeptAt(this.#agent, url, target, hostId, signal)
      } catch (error) {
        signal.throwIfAborted()
        last = error
      }
    }
    throw isFailure(last) ? last : unavailable({ id: target.imageId }, last)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #fillAt(
    url: string,
    { imageId, ticket, changesOf }: ImageTarget,
    disk: DiskImage,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { statusCode, headers, body } = await request(fileUrl(url, imageId), {
      dispatcher: this.#agent,
      method: 'PUT',
      headers: {
        'x-weir-image-ticket': ticket,
        'x-weir-disk-format': disk.diskFormat,
        ...(changesOf !== undefined && { 'x-weir-changes-of': changesOf }),
        'content-type': 'application/octet-stream',
        'content-length': String(disk.sizeBytes),
      },
      body: Readable.from(disk.content()),
      headersTimeout: STORED_TIMEOUT_MS,
      signal,
    })
    const text = await body.text()
    if (statusCode !== STORED) throw refusalOf(imageId, statusCode, text)
    return headers['x-weir-image-filled'] === 'yes'
  }

  #caches({ cache, sha256 }: ImageFile): readonly CachePlace[] {
    const urls = inOrder(cache?.urls ?? [], sha256)
    return urls.map((url) => new CachePlace(url, this.#agent, this.#clock))
  }

  /** From the one that served last. */
  #inOrder<T>(all: readonly T[]): readonly T[] {
    return [...all.slice(this.#first), ...all.slice(0, this.#first)]
  }
}
