import type { Clock } from '#common/clock.ts'
import { isFailure } from '#common/errors.ts'
import type { S3Client } from '../../../s3/s3-client.ts'
import {
  abortUpload,
  beginUpload,
  completeUpload,
  copyPart,
  putPart,
  removeObject,
  type S3Upload,
} from '../../../s3/s3-multipart.ts'

/** Of an object that notes an upload in several parts, so that it can be given up. */
export const NOTE_SUFFIX = '.upload'
/** Less often than uploads are taken for abandoned. */
const NOTED_EVERY_MS = 600_000

/**
 * An upload in several parts with an object beside it that says how it can be given up: its parts are no objects, and S3
 * shows them to few.
 */
export class NotedUpload {
  readonly #client: S3Client
  readonly #upload: S3Upload
  readonly #note: string
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #tags: string[] = []
  #notedAt: number

  private constructor(
    client: S3Client,
    upload: S3Upload,
    note: string,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.#client = client
    this.#upload = upload
    this.#note = note
    this.#clock = clock
    this.#notedAt = clock.elapsed()
  }

  static async begin(
    client: S3Client,
    key: string,
    clock: Pick<Clock, 'elapsed'>,
    note = `${key}${NOTE_SUFFIX}`,
  ): Promise<NotedUpload> {
    const noted = new NotedUpload(client, await beginUpload(client, key), note, clock)
    await noted.#write()
    return noted
  }

  get key(): string {
    return this.#upload.key
  }

  async put(part: Uint8Array): Promise<void> {
    this.#tags.push(await putPart(this.#client, this.#upload, this.#tags.length + 1, part))
  }

  async copy(from: { readonly key: string; readonly first: number; readonly last: number }) {
    this.#tags.push(await copyPart(this.#client, this.#upload, this.#tags.length + 1, from))
  }

  /** Afterwards the object is there, with so many bytes. */
  complete(sizeBytes: number): Promise<void> {
    return completeUpload(this.#client, this.#upload, { tags: this.#tags, sizeBytes })
  }

  /** Afterwards the note is younger than it may be without its upload being taken for abandoned. */
  async noteAgain(): Promise<void> {
    if (this.#clock.elapsed() - this.#notedAt >= NOTED_EVERY_MS) await this.#write()
  }

  /** Afterwards nothing of it is left; where S3 does not answer, it is removed once it is taken for abandoned. */
  async remove(isWhole: boolean): Promise<void> {
    try {
      if (isWhole) await removeObject(this.#client, this.#upload.key)
      else await abortUpload(this.#client, this.#upload)
      await this.removeNote()
    } catch (error) {
      if (!isFailure(error, 'unavailable')) throw error
    }
  }

  removeNote(): Promise<void> {
    return removeObject(this.#client, this.#note)
  }

  async #write(): Promise<void> {
    const body = Buffer.from(`${this.#upload.key}\n${this.#upload.uploadId}`)
    await this.#client.ask({ operation: 'put', method: 'PUT', key: this.#note, body })
    this.#notedAt = this.#clock.elapsed()
  }
}

/** The upload that a note is of; undefined for a text that is none. */
export function uploadOfNote(text: string): S3Upload | undefined {
  const [key, uploadId] = text.split('\n')
  return key === undefined || uploadId === undefined ? undefined : { key, uploadId }
}
