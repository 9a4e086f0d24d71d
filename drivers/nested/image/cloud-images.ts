import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import { abortable } from '../../abortable.ts'
import type { ImageFile, ImageSource, ImageSpec, Owner } from '../../driver.ts'
import type { ImageCopies, ImageCopy } from '../../image-copies.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { namedId } from '../map/named-id.ts'

/** Properties by which an image below is known as a copy of ours. They are stored there, so they never change. */
const SHA256_PROPERTY = 'weir_sha256'
const IMAGE_PROPERTY = 'weir_image'
const HOST_PROPERTY = 'weir_host'

const NAME_MAX = 255

/** What Glance has of its own, or keeps for itself: an image cannot be made with these as properties. */
const TAKEN =
  /^(os_glance_|os_hash_)|^(id|name|owner|status|visibility|protected|tags|size|virtual_size|checksum|file|self|schema|stores|locations|direct_url|created_at|updated_at|disk_format|container_format|min_disk|min_ram|os_hidden)$/

const COPY = / \(copy of [0-9a-f-]{36}\)$/

/** Of the copy in the nested cloud, or of a copy of a copy. Glance takes 255 characters. */
function copyName({ id, name }: Pick<ImageSpec, 'id' | 'name'>): string {
  const suffix = ` (copy of ${id})`
  return `${name.replace(COPY, '').slice(0, NAME_MAX - suffix.length)}${suffix}`
}

/** The body of Glance's `POST /v2/images` for a copy of an image of ours. */
function imageBody(owner: Owner, image: ImageSpec): object {
  const properties = Object.entries(image.properties).filter(([name]) => !TAKEN.test(name))
  return {
    ...Object.fromEntries(properties),
    // A name of ours alone: users there go by the name of the original.
    name: copyName(image),
    disk_format: image.diskFormat,
    container_format: image.diskFormat === 'docker' ? 'docker' : 'bare',
    visibility: 'private',
    min_disk: image.minDiskGb,
    min_ram: image.minRamMb,
    [SHA256_PROPERTY]: image.sha256,
    [IMAGE_PROPERTY]: image.id,
    [HOST_PROPERTY]: owner.hostId,
  }
}

/** Passes the content on; throws `invalid` before its end when it is not what the image promises. */
async function* verified(
  content: AsyncIterable<Uint8Array>,
  { id, sizeBytes, sha256 }: ImageSpec,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > sizeBytes) throw wrong(id, 'is longer than its stated size')
    hash.update(chunk)
    yield chunk
  }
  if (size < sizeBytes) throw wrong(id, 'is shorter than its stated size')
  if (hash.digest('hex') !== sha256) throw wrong(id, 'does not match its SHA-256')
}

function wrong(id: string, why: string): Failure {
  return new Failure('invalid', `The content of image ${id} ${why}.`)
}

/** Of an image as the cloud shows it, what the driver reads; before it has content it has neither format nor size. */
const CloudImage = Type.Object({
  id: Id,
  status: Type.String(),
  disk_format: Type.Optional(Nullable(Type.String())),
  size: Type.Optional(Nullable(Type.Integer())),
  [HOST_PROPERTY]: Type.Optional(Type.String()),
})
export type CloudImage = Static<typeof CloudImage>

const ListedImages = Type.Object({ images: Type.Array(CloudImage) })

interface Upload {
  readonly done: Promise<string>
  readonly abort: AbortController
  waiters: number
}

const SHA256 = /^[0-9a-f]{64}$/
const REMOVE_MS = 30_000
const RETRY_MS = 200

export interface CloudImagesOptions {
  readonly cloud: Cloud
  readonly owner: Owner
  readonly source: ImageSource
  /** Of our images, by id: the id of the one to use below. */
  readonly named: ReadonlyMap<string, string>
}

/**
 * Our images in the nested cloud: one copy each, known by our id and the SHA-256 of its content, and
 * made when it is missing.
 */
export class CloudImages implements ImageCopies, AsyncDisposable {
  readonly #options: CloudImagesOptions
  readonly #uploads = new Map<string, Upload>()
  /** Of images that were named, by their names. */
  readonly #ids = new Map<string, string>()

  constructor(options: CloudImagesOptions) {
    this.#options = options
  }

  /**
   * The id below of the image. Callers that want the same one share its upload, which ends early only when none of them
   * waits any more. `needed`: properties that it is to have below, too; a copy that was made before it had them is made again.
   * Throws `invalid` for a content that is not what was promised.
   */
  async ensure(
    image: ImageSpec,
    signal: AbortSignal,
    needed: readonly string[] = [],
  ): Promise<string> {
    const named = this.#options.named.get(image.id)
    if (named !== undefined) return this.#named(named, signal)
    if (!SHA256.test(image.sha256))
      throw new Failure(
        'invalid',
        `Image ${image.id} has no SHA-256 with which its content could be verified.`,
      )
    const key = [image.id, ...needed].join(' ')
    const upload = this.#uploads.get(key) ?? this.#start(image, needed, key)
    upload.waiters += 1
    try {
      return await abortable(upload.done, signal)
    } finally {
      upload.waiters -= 1
      if (upload.waiters === 0) this.#end(key, upload, signal.reason)
    }
  }

  /** The image that `ensure` would use, unless it is known by its name alone. */
  async find(
    image: Pick<ImageFile, 'id' | 'sha256'>,
    signal: AbortSignal,
  ): Promise<ImageCopy | undefined> {
    const named = this.#options.named.get(image.id)
    const found =
      named === undefined
        ? (await this.#copies(image, signal)).find(({ status }) => status === 'active')
        : await this.show(await this.#named(named, signal), signal)
    return found && { name: found.id, sizeBytes: found.size ?? 0 }
  }

  /** Looked up once: what an operator named stays what it was. */
  async #named(named: string, signal: AbortSignal): Promise<string> {
    const id = isUuid(named) ? named : this.#ids.get(named)
    if (id !== undefined) return id
    const found = await namedId(this.#options.cloud, 'images', named, signal)
    this.#ids.set(named, found)
    return found
  }

  async show(id: string, signal: AbortSignal): Promise<CloudImage> {
    const { cloud } = this.#options
    const { body } = await cloud.ask(CloudImage, 'image', 'GET', `/images/${id}`, { signal })
    return body
  }

  /** Afterwards the project below has no image of this name. */
  async removeNamed(name: string, signal: AbortSignal): Promise<void> {
    const { projectId } = await this.#options.cloud.access(signal)
    for (const image of await this.#list({ name, owner: projectId }, signal))
      await this.remove(image.id, signal)
  }

  /** Afterwards the image is not there. One whose upload broke off is let go a moment later. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#options.cloud.call('image', 'DELETE', `/images/${id}`, { signal })
        return
      } catch (error) {
        if (isFailure(error, 'not-found')) return
        if (!isFailure(error, 'conflict')) throw error
        await sleep(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const uploads = [...this.#uploads.values()]
    for (const { abort } of uploads) abort.abort(new Failure('unavailable', 'The host stops.'))
    await Promise.allSettled(uploads.map(({ done }) => done))
  }

  #start(image: ImageSpec, needed: readonly string[], key: string): Upload {
    const abort = new AbortController()
    const done = this.#findOrUpload(image, needed, abort.signal)
    const upload: Upload = { done, abort, waiters: 0 }
    this.#uploads.set(key, upload)
    return upload
  }

  #end(key: string, upload: Upload, reason: unknown): void {
    if (this.#uploads.get(key) === upload) this.#uploads.delete(key)
    upload.abort.abort(reason)
  }

  async #findOrUpload(
    image: ImageSpec,
    needed: readonly string[],
    signal: AbortSignal,
  ): Promise<string> {
    const properties = Object.fromEntries(
      needed.map((name) => [name, image.properties[name] ?? '']),
    )
    const copies = await this.#copies(image, signal, properties)
    const copy = copies.find(({ status }) => status === 'active')
    if (copy !== undefined) return copy.id
    const hashed = await this.#hashed(image, signal, properties)
    if (hashed !== undefined) return hashed.id
    for (const left of copies)
      if (left[HOST_PROPERTY] === this.#options.owner.hostId) await this.remove(left.id, signal)
    return this.#upload(image, signal)
  }

  /** A hash that the cloud computed may be of another content. Glance uses SHA-512 unless it is configured otherwise. */
  async #hashed(
    { name, sha256, sha512 }: ImageSpec,
    signal: AbortSignal,
    properties: Readonly<Record<string, string>>,
  ): Promise<CloudImage | undefined> {
    for (const os_hash_value of [sha512, sha256]) {
      if (os_hash_value === undefined) continue
      const query = { ...properties, name, os_hash_value, status: 'active' }
      const [found] = await this.#list(query, signal)
      if (found !== undefined) return found
    }
    return undefined
  }

  async #copies(
    { id, sha256 }: Pick<ImageFile, 'id' | 'sha256'>,
    signal: AbortSignal,
    properties: Readonly<Record<string, string>> = {},
  ): Promise<readonly CloudImage[]> {
    const { projectId: owner } = await this.#options.cloud.access(signal)
    // Any user can set a property, so only images of our own project are trusted.
    const own = { [SHA256_PROPERTY]: sha256, [IMAGE_PROPERTY]: id, owner }
    return this.#list({ ...properties, ...own }, signal)
  }

  async #list(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<readonly CloudImage[]> {
    const { cloud } = this.#options
    const { body } = await cloud.ask(ListedImages, 'image', 'GET', '/images', { query, signal })
    return body.images
  }

  async #upload(image: ImageSpec, signal: AbortSignal): Promise<string> {
    const { cloud, owner, source } = this.#options
    // From the gateways: what a cache has damaged would show only after the cloud has most of it.
    const { cache: _, ...original } = image
    const content = verified(await source.open(original, signal), image)
    const body = imageBody(owner, image)
    const { body: made } = await cloud.ask(CloudImage, 'image', 'POST', '/images', {
      body,
      signal,
    })
    try {
      await cloud.call('image', 'PUT', `/images/${made.id}/file`, { content, signal })
      return made.id
    } catch (error) {
      await this.remove(made.id, AbortSignal.timeout(REMOVE_MS)).catch(() => undefined)
      throw error
    }
  }
}
