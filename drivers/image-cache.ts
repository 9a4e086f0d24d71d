import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { abortable } from './abortable.ts'
import type { ImageFile, ImageSource } from './driver.ts'
import type { ImageCopies, ImageCopy } from './image-copies.ts'
import { ImageFiles } from './image-files.ts'
import { ImagePins } from './image-pins.ts'

const SHA256 = /^[0-9a-f]{64}$/
const PARTIAL = '.part-'
/** Images that no instance uses stay for the next boot, up to this much in all. */
const UNUSED_BYTES_MAX = 20 * 1024 ** 3
/** A stalled image service must not hold a boot for ever. */
const STALL_MAX_MS = 60_000

interface Fetch {
  readonly done: Promise<string>
  readonly abort: AbortController
  waiters: number
}

/** A file that is neither changed nor removed before it is disposed. */
export interface HeldImage extends AsyncDisposable {
  readonly path: string
}

/**
 * Image files by the SHA-256 of their content. A file that can be seen here is whole and has been verified; it is
 * read-only and shared by the disks of all its instances.
 */
export class ImageCache implements ImageCopies, AsyncDisposable {
  readonly #folder: string
  readonly #source: ImageSource
  readonly #unusedBytesMax: number
  readonly #fetches = new Map<string, Fetch>()
  /** How many hold each, by SHA-256. */
  readonly #held = new Map<string, number>()
  readonly #files: ImageFiles
  readonly #pins: ImagePins

  constructor(folder: string, source: ImageSource, unusedBytesMax = UNUSED_BYTES_MAX) {
    this.#unusedBytesMax = unusedBytesMax
    this.#folder = folder
    this.#source = source
    this.#files = new ImageFiles(folder, SHA256)
    this.#pins = new ImagePins(folder)
  }

  /** Afterwards the folder exists and holds no leftovers of interrupted fetches. */
  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o711 })
    const names = await readdir(this.#folder)
    for (const name of names)
      if (name.includes(PARTIAL))
        await rm(join(this.#folder, name), { recursive: true, force: true })
    this.#pins.restore(names)
  }

  /**
   * The path of the image's file, fetched if need be. Callers that want the same image share one fetch, which ends
   * early only when none of them waits any more. Throws `invalid` when the content is not what was promised.
   */
  async path(image: ImageFile, signal: AbortSignal): Promise<string> {
    if (!SHA256.test(image.sha256))
      throw new Failure(
        'invalid',
        `Image ${image.id} has no SHA-256 with which its content could be verified.`,
      )
    const path = join(this.#folder, image.sha256)
    const found = await this.find(image)
    if (found !== undefined) {
      const now = new Date()
      await utimes(path, now, now)
      await this.#files.used(image.sha256, found.sizeBytes)
      return path
    }
    return this.#wait(
      image.sha256,
      this.#fetches.get(image.sha256) ?? this.#start(image, path),
      signal,
    )
  }

  async find({ sha256 }: Pick<ImageFile, 'sha256'>): Promise<ImageCopy | undefined> {
    if (!SHA256.test(sha256)) return undefined
    const found = await stat(join(this.#folder, sha256)).catch(() => undefined)
    return found?.isFile() === true ? { name: null, sizeBytes: found.size } : undefined
  }

  async fetch(image: ImageFile, signal: AbortSignal): Promise<void> {
    await this.path(image, signal)
  }

  /** As `path`: the file stays until the image is disposed, which leaves no more unused ones than the limit. */
  async hold(image: ImageFile, signal: AbortSignal): Promise<HeldImage> {
    const { sha256 } = image
    this.#held.set(sha256, (this.#held.get(sha256) ?? 0) + 1)
    const letGo = async () => {
      const others = (this.#held.get(sha256) ?? 1) - 1
      if (others > 0) this.#held.set(sha256, others)
      else this.#held.delete(sha256)
      await this.purge(new Set())
    }
    try {
      return { path: await this.path(image, signal), [Symbol.asyncDispose]: letGo }
    } catch (error) {
      await letGo()
      throw error
    }
  }

  /** Afterwards the image makes room for no other, as soon as it is here, until `unpin` for the same holder, a UUID. */
  pin({ sha256 }: Pick<ImageFile, 'sha256'>, holder: string): Promise<void> {
    return this.#pins.add(sha256, holder)
  }

  /** Afterwards no image is pinned for the holder, undefined: for any, but the one of this SHA-256, if it is named. */
  unpin(holder: string | undefined, except?: string): Promise<void> {
    return this.#pins.remove(holder, except)
  }

  /** Removes images outside `used` that no caller holds, the longest unused first, until the rest is within the limit. */
  async purge(used: ReadonlySet<string>): Promise<void> {
    if ((await this.#files.bytes()) <= this.#unusedBytesMax) return
    const unused = [...(await this.#files.oldestFirst())].filter(
      ({ name }) => !used.has(name) && this.#mayGo(name),
    )
    let bytes = unused.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    for (const { name, sizeBytes } of unused) {
      if (bytes <= this.#unusedBytesMax) break
      if (this.#mayGo(name)) await this.#files.drop(name)
      bytes -= sizeBytes
    }
  }

  /** The same until all images here are within `bytesMax`; false where those that are held or pinned are more. */
  async shrink(bytesMax: number): Promise<boolean> {
    if ((await this.#files.bytes()) <= bytesMax) return true
    for (const { name } of await this.#files.oldestFirst()) {
      if ((await this.#files.bytes()) <= bytesMax) break
      if (this.#mayGo(name)) await this.#files.drop(name)
    }
    return (await this.#files.bytes()) <= bytesMax
  }

  /** Of all images here. */
  async usedBytes(): Promise<number> {
    await this.#files.refresh()
    return this.#files.bytes()
  }

  /** Afterwards the image is not here; who reads its file reads on. */
  async remove({ sha256 }: Pick<ImageFile, 'sha256'>): Promise<void> {
    if (SHA256.test(sha256)) await this.#files.drop(sha256)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const fetches = [...this.#fetches.values()]
    for (const fetch of fetches) fetch.abort.abort(new Failure('unavailable', 'The host stops.'))
    await Promise.allSettled(fetches.map((fetch) => fetch.done))
  }

  #mayGo(sha256: string): boolean {
    return !this.#held.has(sha256) && !this.#pins.has(sha256)
  }

  #start(image: ImageFile, path: string): Fetch {
    const abort = new AbortController()
    const fetch: Fetch = { done: this.#download(image, path, abort.signal), abort, waiters: 0 }
    this.#fetches.set(image.sha256, fetch)
    return fetch
  }

  /** No caller waits any more: a fetch that still runs is given up, and the next caller starts a new one. */
  #end(sha256: string, fetch: Fetch, reason: unknown): void {
    if (this.#fetches.get(sha256) === fetch) this.#fetches.delete(sha256)
    fetch.abort.abort(reason)
  }

  async #wait(sha256: string, fetch: Fetch, signal: AbortSignal): Promise<string> {
    fetch.waiters += 1
    try {
      return await abortable(fetch.done, signal)
    } finally {
      fetch.waiters -= 1
      if (fetch.waiters === 0) this.#end(sha256, fetch, signal.reason)
    }
  }

  async #download(image: ImageFile, path: string, signal: AbortSignal): Promise<string> {
    const partial = `${path}${PARTIAL}${randomUUID()}`
    const { cache, ...original } = image
    try {
      await this.#writeVerified(image, partial, signal)
    } catch (error) {
      if (cache === undefined || !isFailure(error, 'invalid')) throw error
      // The cell's cache may have damaged it.
      await this.#source.reportDamaged?.(image, signal)
      await this.#writeVerified(original, partial, signal)
    }
    await rename(partial, path)
    await this.#files.used(image.sha256, image.sizeBytes)
    return path
  }

  /** Afterwards the file is there and durable; on a failure it is not there. */
  async #writeVerified(image: ImageFile, partial: string, signal: AbortSignal): Promise<void> {
    const file = await open(partial, 'wx', 0o444)
    let isWhole = false
    try {
      const hash = createHash('sha256')
      let size = 0
      const content = await this.#source.open(image, signal)
      for await (const chunk of untilStalled(content, signal)) {
        size += chunk.length
        if (size > image.sizeBytes) throw notAsPromised(image, 'is longer than its stated size')
        hash.update(chunk)
        await file.writeFile(chunk)
      }
      if (size !== image.sizeBytes) throw notAsPromised(image, 'is shorter than its stated size')
      if (hash.digest('hex') !== image.sha256)
        throw notAsPromised(image, 'does not match its SHA-256')
      await file.sync()
      isWhole = true
    } finally {
      await file.close()
      if (!isWhole) await rm(partial, { force: true })
    }
  }
}

/** Passes chunks on; throws `unavailable` when the next one takes too long, the reason when aborted. */
async function* untilStalled(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = content[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunkOrStall(iterator, signal)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a stalled source may never return.
    void iterator.return?.().catch(() => undefined)
  }
}

async function chunkOrStall(
  iterator: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<IteratorResult<Uint8Array>> {
  const stall = new AbortController()
  const stalled = () =>
    stall.abort(new Failure('unavailable', 'The image service stopped sending data.'))
  const timer = setTimeout(stalled, STALL_MAX_MS)
  try {
    return await abortable(iterator.next(), AbortSignal.any([signal, stall.signal]))
  } finally {
    clearTimeout(timer)
  }
}

function notAsPromised(image: ImageFile, why: string): Failure {
  return new Failure('invalid', `The content of image ${image.id} ${why}.`)
}
