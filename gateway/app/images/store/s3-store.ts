import { Failure } from '#common/errors.ts'
import type { S3Client } from '../../../s3/s3-client.ts'
import { listObjects } from '../../../s3/s3-list.ts'
import { abortUpload, removeObject, type S3Upload, sizeOf } from '../../../s3/s3-multipart.ts'
import { HEAD_BYTES, type Sample, TAIL_BYTES } from '../formats/format.ts'
import {
  type ContentStore,
  type Incoming,
  isDigest,
  type Part,
  type StoredContent,
} from './content-store.ts'
import { S3Incoming, type S3Keys, type S3Sizes } from './s3-incoming.ts'
import { NOTE_SUFFIX, uploadOfNote } from './s3-noted-upload.ts'
import { openObject, readObject } from './s3-read.ts'

const MIB = 1024 * 1024
const PART_BYTES_MIN = 8 * MIB
const PARTS_MAX = 10_000
const COPY_MAX_BYTES = 5 * 1024 * MIB

/** Sizes with which S3 takes contents of up to `sizeMaxBytes`. */
export function s3Sizes(sizeMaxBytes: number): S3Sizes {
  const least = Math.ceil(sizeMaxBytes / PARTS_MAX / MIB) * MIB
  return { partBytes: Math.max(PART_BYTES_MIN, least), copyMaxBytes: COPY_MAX_BYTES }
}

/**
 * Contents as objects in a bucket of an S3, which must show an object to every reader as soon as it was written, as Amazon's
 * and Ceph's do. Below the prefix, `contents/` has what has its name, `incoming/` what is on its way.
 */
export class S3Store implements ContentStore {
  readonly #client: S3Client
  readonly #sizes: S3Sizes
  readonly #keys: S3Keys

  /** The client is the store's from then on. */
  constructor(client: S3Client, sizes: S3Sizes) {
    this.#client = client
    this.#sizes = sizes
    const { prefix } = client.settings
    this.#keys = {
      contentKey: (sha256) => `${prefix}contents/${sha256}`,
      incomingKey: (id) => `${prefix}incoming/${id}`,
    }
  }

  async receive(): Promise<Incoming> {
    return new S3Incoming(this.#client, this.#keys, this.#sizes)
  }

  async read(sha256: string, part?: Part): Promise<StoredContent> {
    return openObject(this.#client, this.#keyOf(sha256), part)
  }

  async sample(sha256: string): Promise<Sample> {
    const key = this.#keyOf(sha256)
    const sizeBytes = await sizeOf(this.#client, key)
    if (sizeBytes === undefined)
      throw new Failure('unavailable', 'The image content cannot be read right now.', {
        detail: `there is no object ${key}`,
      })
    const headBytes = Math.min(HEAD_BYTES, sizeBytes)
    const tailBytes = Math.min(TAIL_BYTES, sizeBytes)
    const head = await readObject(this.#client, key, { first: 0, last: headBytes - 1 })
    const tail = await readObject(this.#client, key, {
      first: sizeBytes - tailBytes,
      last: sizeBytes - 1,
    })
    return { head, tail, sizeBytes }
  }

  async directUrl(sha256: string, seconds: number): Promise<string | undefined> {
    const { isDirect } = this.#client.settings
    return isDirect ? this.#client.presigned(this.#keyOf(sha256), seconds) : undefined
  }

  async remove(sha256: string): Promise<void> {
    await removeObject(this.#client, this.#keyOf(sha256))
  }

  async *stored(olderThan: Date): AsyncGenerator<string> {
    const prefix = this.#keys.contentKey('')
    for await (const { key, writtenAt } of listObjects(this.#client, prefix)) {
      const name = key.slice(prefix.length)
      if (isDigest(name) && writtenAt < olderThan) yield name
    }
  }

  async removeAbandoned(olderThan: Date): Promise<number> {
    const newest = new Map<string, { readonly keys: string[]; writtenAt: Date }>()
    for await (const { key, writtenAt } of listObjects(this.#client, this.#keys.incomingKey(''))) {
      const upload = key.endsWith(NOTE_SUFFIX) ? key.slice(0, -NOTE_SUFFIX.length) : key
      const known = newest.get(upload)
      if (known === undefined) newest.set(upload, { keys: [key], writtenAt })
      else {
        known.keys.push(key)
        if (writtenAt > known.writtenAt) known.writtenAt = writtenAt
      }
    }
    const abandoned = [...newest.values()].filter(({ writtenAt }) => writtenAt < olderThan)
    for (const { keys } of abandoned) for (const key of keys) await this.#removeIncoming(key)
    return abandoned.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }

  /** The note is removed last, so that an upload that could not be given up is found again. */
  async #removeIncoming(key: string): Promise<void> {
    if (key.endsWith(NOTE_SUFFIX)) {
      const upload = await this.#noted(key)
      if (upload !== undefined) await abortUpload(this.#client, upload)
    }
    await removeObject(this.#client, key)
  }

  /** Undefined where another gateway has removed the note. */
  async #noted(key: string): Promise<S3Upload | undefined> {
    const asked = { operation: 'read', method: 'GET', key, expects: [404] } as const
    const { status, text } = await this.#client.ask(asked)
    return status === 404 ? undefined : uploadOfNote(text)
  }

  #keyOf(sha256: string): string {
    if (!isDigest(sha256)) throw new Error('Not a SHA-256 digest')
    return this.#keys.contentKey(sha256)
  }
}
