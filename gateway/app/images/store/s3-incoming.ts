import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { S3Client } from '../../../s3/s3-client.ts'
import { sizeOf } from '../../../s3/s3-multipart.ts'
import type { Incoming } from './content-store.ts'
import { NOTE_SUFFIX, NotedUpload } from './s3-noted-upload.ts'

/** Where the parts of the store are in the bucket. */
export interface S3Keys {
  contentKey(sha256: string): string
  /** What begins so belongs to this upload alone. */
  incomingKey(id: string): string
}

export interface S3Sizes {
  /** Of each part but the last; one or two are in memory. S3 takes 10,000, each of at least 5 MiB. */
  readonly partBytes: number
  /** What S3 copies in one request. */
  readonly copyMaxBytes: number
}

/**
 * A content on its way into S3. One that is smaller than a part goes to its digest's key at once; a larger one goes in parts
 * to a key of its own first, since its digest shows at the end.
 */
export class S3Incoming implements Incoming {
  readonly #client: S3Client
  readonly #keys: S3Keys
  readonly #sizes: S3Sizes
  readonly #clock: Pick<Clock, 'elapsed'>
  #pending = new PartBuffer()
  /** The one before, once it is sent. */
  #spare: PartBuffer | undefined
  #sizeBytes = 0
  #parts: NotedUpload | undefined
  #isWhole = false
  #sending: Promise<void> = Promise.resolve()

  constructor(
    client: S3Client,
    keys: S3Keys,
    sizes: S3Sizes,
    clock: Pick<Clock, 'elapsed'> = systemClock,
  ) {
    this.#client = client
    this.#keys = keys
    this.#sizes = sizes
    this.#clock = clock
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { partBytes } = this.#sizes
    for (let from = 0; from < chunk.length; ) {
      from += this.#pending.append(chunk.subarray(from), partBytes)
      if (this.#pending.length === partBytes) await this.#send()
    }
    this.#sizeBytes += chunk.length
    await this.#parts?.noteAgain()
  }

  async flush(sha256: string): Promise<void> {
    if (this.#parts !== undefined) {
      if (this.#pending.length > 0) await this.#send()
      await this.#sending
      await this.#parts.complete(this.#sizeBytes)
      this.#isWhole = true
    }
    await this.keep(sha256)
  }

  async keep(sha256: string): Promise<void> {
    const key = this.#keys.contentKey(sha256)
    // The same bytes may be there already, of another image or of a try whose answer was lost.
    if ((await sizeOf(this.#client, key)) === this.#sizeBytes) return
    if (this.#parts === undefined) {
      await this.#put(key)
      return
    }
    if (this.#sizeBytes <= this.#sizes.copyMaxBytes) await this.#copy(this.#parts.key, key)
    else await this.#copyInParts(this.#parts.key, key)
    const stored = await sizeOf(this.#client, key)
    if (stored === this.#sizeBytes) return
    throw new Failure('unavailable', 'The image store cannot be used right now.', {
      detail: `${key} has ${stored ?? 'no'} bytes instead of ${this.#sizeBytes}`,
    })
  }

  /** What cannot be removed now is removed once it is taken for abandoned. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sending.catch(() => undefined)
    await this.#parts?.remove(this.#isWhole)
  }

  /** One part is on its way while the next one comes. */
  async #send(): Promise<void> {
    const parts = (this.#parts ??= await NotedUpload.begin(
      this.#client,
      this.#newKey(),
      this.#clock,
    ))
    await this.#sending
    const full = this.#pending
    this.#pending = this.#spare ?? new PartBuffer()
    this.#spare = undefined
    this.#sending = parts.put(full.bytes()).then(() => {
      full.empty()
      this.#spare = full
    })
    // The next caller that waits for it gets its failure.
    this.#sending.catch(() => undefined)
  }

  async #put(key: string): Promise<void> {
    const body = this.#pending.bytes()
    await this.#client.ask({ operation: 'put', method: 'PUT', key, body })
  }

  async #copy(from: string, key: string): Promise<void> {
    const headers = { 'x-amz-copy-source': `/${this.#client.settings.bucket}/${from}` }
    await this.#client.ask({ operation: 'copy', method: 'PUT', key, headers, isSlow: true })
  }

  async #copyInParts(from: string, key: string): Promise<void> {
    const note = `${this.#newKey()}${NOTE_SUFFIX}`
    const upload = await NotedUpload.begin(this.#client, key, this.#clock, note)
    try {
      for (let first = 0; first < this.#sizeBytes; first += this.#sizes.copyMaxBytes) {
        const last = Math.min(first + this.#sizes.copyMaxBytes, this.#sizeBytes) - 1
        await upload.copy({ key: from, first, last })
        await this.#parts?.noteAgain()
      }
      await upload.complete(this.#sizeBytes)
      await upload.removeNote()
    } catch (error) {
      await upload.remove(false)
      throw error
    }
  }

  #newKey(): string {
    return this.#keys.incomingKey(randomUUID())
  }
}

/** Room for the bytes of a part, as large as they are: most images of tests and ramdisks are small. */
class PartBuffer {
  #room = Buffer.alloc(0)
  length = 0

  /** Takes as many of the bytes as there is room for in `maxBytes`; the answer is how many. */
  append(chunk: Uint8Array, maxBytes: number): number {
    const taken = chunk.subarray(0, maxBytes - this.length)
    const needed = this.length + taken.length
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(needed, 2 * this.length)))
      this.#room.copy(larger, 0, 0, this.length)
      this.#room = larger
    }
    this.#room.set(taken, this.length)
    this.length = needed
    return taken.length
  }

  /** Valid until it is emptied. */
  bytes(): Uint8Array {
    return this.#room.subarray(0, this.length)
  }

  empty(): void {
    this.length = 0
  }
}
