import { isFailure } from '#common/errors.ts'
import type { ImageId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { diskFile } from '#common/qcow2/disk-file.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import type { ImageFile } from '#drivers/driver.ts'
import type { ImageCache } from '#drivers/image-cache.ts'
import type { ImageMaking } from '#openapi/wire/instance.ts'

/** Images that could not be made, of which so many are remembered. */
const TRIED_MAX = 1_000

/**
 * Makes images that a cache is to have from others that it has, and their changes. It tries each image once: where the changes
 * do not lead to the expected bytes, the image is fetched.
 */
export class ImageMaker {
  readonly #files: ImageCache
  readonly #log: Logger
  readonly #offered = new Map<string, ImageMaking>()
  readonly #tried = new Set<string>()

  constructor(files: ImageCache, log: Logger) {
    this.#files = files
    this.#log = log
  }

  /** Afterwards the image of this SHA-256 is made so when it is next opened, unless that has failed before. */
  offer(sha256: string, making: ImageMaking): void {
    // Changes of a whole disk are the image itself: who made it of them would wait for its own fetch.
    if (making.changes.sha256 === sha256) return
    if (!this.#tried.has(sha256)) this.#offered.set(sha256, making)
  }

  /** What making it takes besides the image itself. */
  extraBytes(sha256: string): number {
    return this.#offered.get(sha256)?.changes.sizeBytes ?? 0
  }

  /** Afterwards nothing is remembered of it: it is there. */
  made(sha256: string): void {
    this.#offered.delete(sha256)
    this.#tried.delete(sha256)
  }

  /** The content, as its reader still has to verify; undefined: it has to be fetched. */
  async make(
    { id, sha256, sizeBytes }: ImageFile,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const making = this.#offered.get(sha256)
    if (making === undefined) return undefined
    this.#offered.delete(sha256)
    if (this.#tried.size >= TRIED_MAX) this.#tried.clear()
    this.#tried.add(sha256)
    if ((await this.#files.find(making.before)) === undefined) return undefined
    try {
      return await this.#opened({ id, sizeBytes }, making, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailure(error)) throw error
      this.#log.warn({ image_id: id, ...errorFields(error) }, 'an image is fetched, not made')
      return undefined
    }
  }

  async #opened(
    { id, sizeBytes }: Pick<ImageFile, 'id' | 'sizeBytes'>,
    { before, changes }: ImageMaking,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const file = { ...changes, id: changes.id as ImageId }
    await using held = new AsyncDisposableStack()
    // The changes serve for one try.
    held.defer(() => this.#files.remove(file))
    const [old, given] = [
      held.use(await this.#files.hold({ ...before, id, ticket: '' }, signal)),
      held.use(await this.#files.hold(file, signal)),
    ]
    const disk = await mergeChanges(await diskFile(old.path), await diskFile(given.path))
    return disk.sizeBytes === sizeBytes ? streamed(disk.stream(), held.move()) : undefined
  }
}

/** What the stream reads is held until it ends. */
async function* streamed(
  stream: AsyncIterable<Uint8Array>,
  held: AsyncDisposableStack,
): AsyncGenerator<Uint8Array> {
  await using _held = held
  yield* stream
}
