import { createReadStream } from 'node:fs'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { ImageFile, ImageSpec } from '../../driver.ts'
import type { ImageCache } from '../../image-cache.ts'
import type { ImageCopies, ImageCopy } from '../../image-copies.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Engine } from '../engine/engine.ts'
import { withoutRoom } from '../engine/engine-failure.ts'
import { archiveKind } from './archive-kind.ts'
import { purgeImages } from './purge-images.ts'
import { retagged } from './retagged.ts'

const REPOSITORY = 'weir-image'
/** An image property that names an image which the engine has already. */
const LOCAL_IMAGE = 'docker_image'
/** Images that no container is made of stay for the next boot, up to this much in all. */
const UNUSED_BYTES_MAX = 20 * 1024 ** 3

export interface EngineImage {
  readonly Id: string
  /** In bytes. */
  readonly Size: number
  readonly Config: {
    readonly Cmd: readonly string[] | null
    readonly Entrypoint: readonly string[] | null
    /** By where the image wants volumes of its own. */
    readonly Volumes?: Readonly<Record<string, object>> | null
  } | null
}

/** The engine's images: those of the image service under the SHA-256 of their content, and named ones it had before. */
export class EngineImages implements ImageCopies, AsyncDisposable {
  readonly #engine: Engine
  readonly #cache: ImageCache
  readonly #localImages: readonly string[]
  readonly #unusedBytesMax: number
  readonly #locks = new KeyedLock<string>()

  constructor(
    engine: Engine,
    cache: ImageCache,
    localImages: readonly string[],
    unusedBytesMax = UNUSED_BYTES_MAX,
  ) {
    this.#unusedBytesMax = unusedBytesMax
    this.#engine = engine
    this.#cache = cache
    this.#localImages = localImages
  }

  /**
   * The image as the engine has it, loaded if need be. Throws `invalid` when its content has another hash than
   * promised, or no container can be made of it.
   */
  async ensure(image: ImageSpec, signal: AbortSignal): Promise<EngineImage> {
    refuseOtherFormats(image)
    const local = image.properties[LOCAL_IMAGE]
    if (local !== undefined) return this.#local(image, local, signal)
    const name = nameOf(image)
    return this.#locks.run(image.sha256, signal, async () => {
      const existing = await this.#find(name, signal)
      if (existing === undefined) await this.#load(image, name, signal)
      const found = existing ?? (await this.#find(name, signal))
      if (found === undefined)
        throw new Failure(
          'invalid',
          `Image ${image.id} has no content from which a container can be created.`,
        )
      await this.#nameAnew(name, signal)
      if (existing === undefined) await this.purge(signal)
      return found
    })
  }

  async find(
    image: Pick<ImageFile, 'sha256'>,
    signal: AbortSignal,
  ): Promise<ImageCopy | undefined> {
    const name = nameOf(image)
    const found = await this.#find(name, signal)
    return found && { name, sizeBytes: found.Size }
  }

  /** Afterwards images that Weir has brought and no container is made of take no more than the limit. */
  async purge(signal: AbortSignal): Promise<void> {
    const limits = { kept: this.#localImages, unusedBytesMax: this.#unusedBytesMax }
    await purgeImages(this.#engine, { repository: REPOSITORY, ...limits }, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache[Symbol.asyncDispose]()
  }

  /** A user may name only what the operator has offered: the rest of the engine's images is somebody's. */
  async #local(image: ImageSpec, name: string, signal: AbortSignal): Promise<EngineImage> {
    const found = this.#localImages.includes(name) ? await this.#find(name, signal) : undefined
    if (found !== undefined) return found
    throw new Failure(
      'invalid',
      `Image ${image.id} names ${name}, which this host does not offer. Its operator offers images with local_images.`,
    )
  }

  /**
   * The engine records when a name was given last, except when loading: so it knows which image was used last, by any
   * owner.
   */
  async #nameAnew(name: string, signal: AbortSignal): Promise<void> {
    const [repo = '', tag = ''] = name.split(':')
    await this.#engine.call('POST', `/images/${name}/tag`, { query: { repo, tag }, signal })
  }

  async #find(name: string, signal: AbortSignal): Promise<EngineImage | undefined> {
    try {
      return await this.#engine.call<EngineImage>('GET', `/images/${name}/json`, { signal })
    } catch (error) {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    }
  }

  async #load(image: ImageSpec, name: string, signal: AbortSignal): Promise<void> {
    await using held = await this.#cache.hold(image, signal)
    const { path } = held
    const kind = await archiveKind(image, path, signal)
    const content =
      kind === 'image' ? retagged(createReadStream(path), name) : createReadStream(path)
    const archive = new PassThrough()
    const feeding = pipeline(content, archive, { signal })
    const [repo = '', tag = ''] = name.split(':')
    const [where, query] =
      kind === 'image'
        ? ['/images/load', { quiet: '1' }]
        : ['/images/create', { fromSrc: '-', repo, tag }]
    try {
      const report = await this.#engine.open('POST', where, { query, archive, signal })
      for await (const line of report) refuseReported(image, String(line))
      await feeding
    } catch (error) {
      archive.destroy()
      // A problem of the content comes first: the engine only sees it break off.
      const wrong: unknown = await feeding.catch((failure: unknown) => failure)
      throw isFailure(wrong) ? wrong : error
    }
  }
}

function nameOf({ sha256 }: Pick<ImageFile, 'sha256'>): string {
  return `${REPOSITORY}:${sha256}`
}

function refuseOtherFormats(image: ImageSpec): void {
  if (image.diskFormat !== 'docker')
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; this host runs images of container format docker.`,
    )
}

/** The engine answers 200 before it reads an archive, and reports its problems in the body. */
function refuseReported(image: ImageSpec, line: string): void {
  if (!line.includes('"errorDetail"')) return
  throw (
    withoutRoom(line) ??
    new Failure('invalid', `Image ${image.id} was refused by the container engine.`, {
      detail: line.trim(),
    })
  )
}
