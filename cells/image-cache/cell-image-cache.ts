import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import pLimit from 'p-limit'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { ImageFile, ImageSource } from '#drivers/driver.ts'
import { type HeldImage, ImageCache } from '#drivers/image-cache.ts'
import type { ImageMaking } from '#openapi/wire/instance.ts'
import type { FoundInCache } from '../images/cache-place.ts'
import { ImageMaker } from './image-maker.ts'

/** Different images that are fetched at the same time; further ones wait. */
const FETCHES_MAX = 4
/** Small images are here within this time, so that who pins one need not ask again. */
const PIN_WAIT_MS = 1_000
/** A host that waits asks again within this time, and gets a failure that it has missed. */
const FAILED_FOR_MS = 15_000

export interface CellImageCacheOptions {
  /** Of this process alone. */
  readonly folder: string
  readonly source: ImageSource
  /** Of all images here, those being fetched included. */
  readonly bytesMax: number
  readonly clock: Clock
  readonly log: Logger
  /** Called with the bytes that come from the source. */
  readonly onFetched: (bytes: number) => void
}

interface Fetch {
  readonly done: Promise<true>
  bytes: number
}

interface Begun {
  readonly isCached: boolean
  /** Of the image, as many as are here. */
  readonly bytes: number
}

/**
 * Images of the gateways for the hosts of a cell: each is fetched once, however many wait for it, and verified. The longest
 * unused ones make room for the next.
 */
export class CellImageCache implements AsyncDisposable {
  readonly #options: CellImageCacheOptions
  readonly #files: ImageCache
  readonly #limit = pLimit(FETCHES_MAX)
  readonly #fetches = new Map<string, Fetch>()
  readonly #failures = new Map<string, { readonly error: unknown; readonly at: number }>()
  readonly #stop = new AbortController()
  readonly #making: ImageMaker
  #reservedBytes = 0

  private constructor(options: CellImageCacheOptions) {
    this.#options = options
    const source = { open: this.#opened.bind(this) }
    this.#files = new ImageCache(options.folder, source, options.bytesMax)
    this.#making = new ImageMaker(this.#files, options.log)
  }

  /** Afterwards the folder exists, and has no more than it may. */
  static async open(options: CellImageCacheOptions): Promise<CellImageCache> {
    const cache = new CellImageCache(options)
    const { bytesMax, log } = options
    await cache.#files.prepare()
    if (await cache.#files.shrink(bytesMax)) return cache
    log.warn({ bytes_max: bytesMax }, 'the pinned images have no room: none is pinned any more')
    await cache.#files.unpin(undefined)
    await cache.#files.shrink(bytesMax)
    return cache
  }

  /** Bytes of the images here. */
  usedBytes(): Promise<number> {
    return this.#files.usedBytes()
  }

  /**
   * The image's file, which stays until it is disposed; undefined where it is still being fetched after `waitMs`. Throws
   * `unavailable` where it cannot be fetched, or there is no room for it.
   */
  async hold(image: ImageFile, waitMs: number): Promise<HeldImage | undefined> {
    if ((await this.#files.find(image)) === undefined) {
      const isDone = await settledWithin(this.#options.clock, waitMs, this.#fetch(image).done)
      if (isDone === undefined) return undefined
    }
    return this.#files.hold(image, this.#stop.signal)
  }

  /** Afterwards the image is here (`isCached`) or is being fetched; `bytes` of it are here. Throws as `hold` does. */
  async begin(image: ImageFile): Promise<Begun> {
    const found = await this.#files.find(image)
    if (found !== undefined) return { isCached: true, bytes: found.sizeBytes }
    return { isCached: false, bytes: this.#fetch(image).bytes }
  }

  /**
   * As `begin`, after a moment in which a small image comes; afterwards the image makes room for no other until the server's
   * pins end. Where the cache has what the image can be made of, the changes alone are fetched.
   */
  async pin(serverId: string, image: ImageFile, madeOf?: ImageMaking): Promise<Begun> {
    await this.#files.pin(image, serverId)
    if (madeOf !== undefined && !this.#fetches.has(image.sha256))
      this.#making.offer(image.sha256, madeOf)
    const begun = await this.begin(image)
    if (begun.isCached) return begun
    await settledWithin(this.#options.clock, PIN_WAIT_MS, this.#fetch(image).done)
    return this.begin(image)
  }

  /** Afterwards no image is pinned for the server but the one of this SHA-256, if it is named. */
  async unpin(serverId: string, except?: string): Promise<void> {
    await this.#files.unpin(serverId, except)
  }

  /** How many bytes of the image are here, and whether it is whole or being fetched; nothing is begun. */
  async peek(image: ImageFile): Promise<FoundInCache> {
    const found = await this.#files.find(image)
    if (found !== undefined) return { state: 'cached', fetchedBytes: found.sizeBytes }
    const fetch = this.#fetches.get(image.sha256)
    return { state: fetch === undefined ? 'absent' : 'fetching', fetchedBytes: fetch?.bytes ?? 0 }
  }

  /** Afterwards the image is not here unless its bytes are what they should be. */
  async removeDamaged(image: ImageFile): Promise<void> {
    if ((await this.#files.find(image)) === undefined) return
    await using held = await this.#files.hold(image, this.#stop.signal)
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(held.path)) hash.update(chunk as Buffer)
    if (hash.digest('hex') === image.sha256) return
    this.#options.log.error({ image_id: image.id }, 'a damaged image was removed from the cache')
    await this.#files.remove(image)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Failure('unavailable', 'The image cache stops.'))
    await this.#files[Symbol.asyncDispose]()
    await Promise.allSettled([...this.#fetches.values()].map(({ done }) => done))
  }

  /** The fetch of this image that runs, or a new one. Throws why the last one failed, if that was just now. */
  #fetch(image: ImageFile): Fetch {
    const { sha256 } = image
    const running = this.#fetches.get(sha256)
    if (running !== undefined) return running
    this.#throwLastFailure(sha256)
    const fetch: Fetch = { done: this.#limit(() => this.#bring(image)), bytes: 0 }
    this.#fetches.set(sha256, fetch)
    // The requests that wait get it; it is noted for those that come next.
    fetch.done.catch(() => undefined)
    return fetch
  }

  async #bring(image: ImageFile): Promise<true> {
    const { sha256 } = image
    const sizeBytes = image.sizeBytes + this.#making.extraBytes(sha256)
    const { clock, log } = this.#options
    this.#reservedBytes += sizeBytes
    try {
      await this.#makeRoom(image)
      await using _held = await this.#files.hold(image, this.#stop.signal)
      this.#making.made(sha256)
      log.info({ image_id: image.id, bytes: image.sizeBytes }, 'image cached')
      return true
    } catch (error) {
      this.#failures.set(sha256, { error, at: clock.elapsed() })
      log.warn({ ...errorFields(error), image_id: image.id }, 'image not cached')
      throw error
    } finally {
      this.#reservedBytes -= sizeBytes
      this.#fetches.delete(sha256)
    }
  }

  async #makeRoom({ id, sizeBytes }: ImageFile): Promise<void> {
    const { bytesMax } = this.#options
    const left = bytesMax - this.#reservedBytes
    // One that cannot fit takes no other's place.
    if (left >= 0 && (await this.#files.shrink(left))) return
    throw new Failure(
      'unavailable',
      `The image cache of ${bytesMax} bytes has no room for the ${sizeBytes} bytes of image ${id}.`,
    )
  }

  #throwLastFailure(sha256: string): void {
    const now = this.#options.clock.elapsed()
    for (const [each, { at }] of this.#failures)
      if (now - at > FAILED_FOR_MS) this.#failures.delete(each)
    const last = this.#failures.get(sha256)
    if (last !== undefined) throw last.error
  }

  async #opened(image: ImageFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const fetch = this.#fetches.get(image.sha256)
    const made = await this.#making.make(image, signal)
    if (made !== undefined) return this.#counted(made, fetch, () => undefined)
    const content = await this.#options.source.open(image, signal)
    return this.#counted(content, fetch, this.#options.onFetched)
  }

  async *#counted(
    content: AsyncIterable<Uint8Array>,
    fetch: Fetch | undefined,
    onChunk: (bytes: number) => void,
  ) {
    for await (const chunk of content) {
      onChunk(chunk.byteLength)
      if (fetch !== undefined) fetch.bytes += chunk.byteLength
      yield chunk
    }
  }
}
