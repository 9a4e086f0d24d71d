import { createHash, type KeyObject } from 'node:crypto'
import { Agent } from 'undici'
import type { Clock } from '#common/clock.ts'
import { isFailure } from '#common/errors.ts'
import type { ImageId } from '#common/ids.ts'
import type {
  ImageCacheRef,
  ImageFile,
  ImageMaking,
  InstanceBuild,
} from '#openapi/wire/instance.ts'
import { issuePass, type PassedImage } from './cache-pass.ts'
import { CachePlace, type FoundInCache, type Preloaded } from './cache-place.ts'
import { unavailable } from './image-place.ts'

/** A host may begin its download as long after the cell has asked it for work. */
const PASS_LIFE_MS = 6 * 3_600_000
/** The cell uses it at once. */
const PIN_PASS_LIFE_MS = 60_000
/** A cache answers at once. */
const ANSWER_MS = 5_000

/** The image caches of a cell, as its processes name them to hosts. */
export class ImageCaches implements AsyncDisposable {
  readonly #urls: readonly string[]
  readonly #key: KeyObject
  readonly #clock: Clock
  readonly #agent = new Agent()

  constructor(urls: readonly string[], key: KeyObject, clock: Clock) {
    this.#urls = urls
    this.#key = key
    this.#clock = clock
  }

  /** Where an image is read, and the right to it. */
  refTo(image: PassedImage): ImageCacheRef {
    const expiresAtMs = this.#clock.now() + PASS_LIFE_MS
    return { urls: [...this.#urls], pass: issuePass(this.#key, image, expiresAtMs) }
  }

  /** The work for a host, with the caches at each image that it may have to read. */
  pointed<T extends object>(payload: T): T {
    if (isFromImage(payload))
      return { ...payload, from: { image: this.#pointedFile(payload.from.image) } }
    if (hasBuild(payload)) return { ...payload, build: this.#pointedBuild(payload.build) }
    if (!('act' in payload) || !hasBuild(payload.act)) return payload
    return { ...payload, act: { ...payload.act, build: this.#pointedBuild(payload.act.build) } }
  }

  /** Afterwards one of the caches has the image, or fetches it. Throws `unavailable` when none can. */
  preload(image: Omit<ImageFile, 'cache'>): Promise<Preloaded> {
    const file = { ...image, id: image.id as ImageId, cache: this.refTo(image) }
    return this.#first(image, (cache, signal) => cache.preload(file, signal))
  }

  /**
   * Afterwards one of the caches keeps the image for the server, and none keeps another for it; or the one fetches it, and
   * what was kept still is. Throws as `preload`.
   */
  async pin(
    serverId: string,
    image: Omit<ImageFile, 'cache'>,
    madeOf?: ImageMaking,
  ): Promise<Preloaded> {
    const file = { ...image, id: image.id as ImageId }
    const pass = this.#passFor(serverId)
    const { place, found } = await this.#first(image, async (cache, signal, url) => ({
      place: url,
      found: await cache.pin(serverId, { ...file, ...(madeOf && { madeOf }) }, pass, signal),
    }))
    if (found.state === 'cached') {
      const others = this.#urls.filter((url) => url !== place)
      await this.#unpinAt([place], serverId, image.sha256)
      // The image is pinned again by and by: what an absent cache keeps ends then.
      await this.#unpinAt(others, serverId).catch(() => undefined)
    }
    return found
  }

  /** Afterwards no cache keeps an image for the server. Throws `unavailable` while one does not answer. */
  async unpin(serverId: string): Promise<void> {
    await this.#unpinAt(this.#urls, serverId)
  }

  async #unpinAt(urls: readonly string[], serverId: string, except?: string): Promise<void> {
    const pass = this.#passFor(serverId)
    for (const url of urls) {
      const cache = new CachePlace(url, this.#agent, this.#clock)
      await cache.unpin(serverId, pass, AbortSignal.timeout(ANSWER_MS), except)
    }
  }

  #passFor(serverId: string): string {
    return issuePass(this.#key, { serverId }, this.#clock.now() + PIN_PASS_LIFE_MS)
  }

  /** What the cache in which hosts look first has of the image; the next where it does not answer. */
  find(image: PassedImage): Promise<FoundInCache> {
    const file = { ...image, id: image.id as ImageId, ticket: '', cache: this.refTo(image) }
    return this.#first(image, (cache, signal) => cache.find(file, signal))
  }

  async #first<T>(
    image: PassedImage,
    ask: (cache: CachePlace, signal: AbortSignal, url: string) => Promise<T>,
  ): Promise<T> {
    let last: unknown = new Error('the cell names no cache')
    for (const url of inOrder(this.#urls, image.sha256)) {
      try {
        const cache = new CachePlace(url, this.#agent, this.#clock)
        return await ask(cache, AbortSignal.timeout(ANSWER_MS), url)
      } catch (error) {
        last = error
      }
    }
    throw isFailure(last) ? last : unavailable(image, last)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  #pointedBuild(build: InstanceBuild): InstanceBuild {
    const { kernel, ramdisk, changes, ...image } = build.image
    return {
      ...build,
      image: {
        ...this.#pointedFile(image),
        ...(kernel && { kernel: this.#pointedFile(kernel) }),
        ...(ramdisk && { ramdisk: this.#pointedFile(ramdisk) }),
        ...(changes && { changes: this.#pointedFile(changes) }),
      },
    }
  }

  #pointedFile<F extends ImageFile>(file: F): F {
    return { ...file, cache: this.refTo(file) }
  }
}

/**
 * The caches in the order in which an image is looked for in them: the same at every host, so that it is in one of them only,
 * and each image begins at another (rendezvous hashing).
 */
export function inOrder(urls: readonly string[], sha256: string): readonly string[] {
  const ranked = urls.map((url) => ({
    url,
    rank: createHash('sha256').update(`${sha256}\n${url}`).digest('hex'),
  }))
  return ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ url }) => url)
}

/** True for the request to make a volume from an image. */
function isFromImage(value: object): value is { readonly from: { readonly image: ImageFile } } {
  return (
    'from' in value &&
    typeof value.from === 'object' &&
    value.from !== null &&
    'image' in value.from
  )
}

function hasBuild(value: unknown): value is { readonly build: InstanceBuild } {
  return typeof value === 'object' && value !== null && 'build' in value
}
