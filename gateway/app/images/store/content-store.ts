import type { Sample } from '../formats/format.ts'

/** Positions of the first and the last byte of a part. */
export interface Part {
  readonly first: number
  readonly last: number
}

/** A content on its way into the store. Disposing one that was not kept leaves nothing behind. */
export interface Incoming extends AsyncDisposable {
  /** Throws `unavailable` when the store has no room or does not answer, as `flush` and `keep` do. */
  write(chunk: Uint8Array): Promise<void>
  /** Afterwards everything written is durable, and what is left for `keep` is quick. `sha256` is the digest of it all. */
  flush(sha256: string): Promise<void>
  /** Afterwards the store has the content under its digest, durably; keeping twice is keeping once. */
  keep(sha256: string): Promise<void>
}

/** A content, or a part; `sizeBytes` is the size of the whole content. */
export interface StoredContent {
  readonly sizeBytes: number
  readonly stream: ReadableStream<Uint8Array>
}

/**
 * Contents by the SHA-256 of their bytes, shared by every gateway. A content can be read as soon as it has its name, and
 * never changes. Who may remove one is decided by its row in `image_contents`, not here.
 */
export interface ContentStore extends AsyncDisposable {
  /** Throws `unavailable` when the store has no room or does not answer. */
  receive(): Promise<Incoming>
  /** Throws `unavailable` when the content is not there or the store does not answer. */
  read(sha256: string, part?: Part): Promise<StoredContent>
  /** The two ends of a content. Throws `unavailable` as `read` does. */
  sample(sha256: string): Promise<Sample>
  /** A URL whose holder may read the content for `seconds`; undefined where the store hands out none. */
  directUrl(sha256: string, seconds: number): Promise<string | undefined>
  /** Afterwards the store has no such content. Throws `unavailable` when the store does not answer. */
  remove(sha256: string): Promise<void>
  /** Digests of the contents older than `olderThan`. */
  stored(olderThan: Date): AsyncGenerator<string>
  /** Removes what uploads of dead processes left and no process has written to since; the answer is how many uploads. */
  removeAbandoned(olderThan: Date): Promise<number>
  /** Does work that the store has left, on contents older than `olderThan`; the answer is how many. Absent: there is none. */
  settle?(olderThan: Date, signal: AbortSignal): Promise<number>
}

const SHA256 = /^[0-9a-f]{64}$/

/** True for the name of a content. */
export function isDigest(name: string): boolean {
  return SHA256.test(name)
}
