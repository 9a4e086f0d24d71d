import { HEAD_BYTES, type Sample, TAIL_BYTES } from './format.ts'

/** Keeps the two ends of a content that passes by in chunks. */
export class ContentSampler {
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer = Buffer.alloc(0)
  #sizeBytes = 0

  push(chunk: Buffer): void {
    this.#sizeBytes += chunk.length
    if (this.#head.length < HEAD_BYTES) {
      const missing = HEAD_BYTES - this.#head.length
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, missing)])
    }
    const last = chunk.subarray(-TAIL_BYTES)
    this.#tail = Buffer.concat([this.#tail, last]).subarray(-TAIL_BYTES)
  }

  /** True once nothing more will be kept of the front. */
  get isHeadFull(): boolean {
    return this.#head.length === HEAD_BYTES
  }

  sample(): Sample {
    return { head: this.#head, tail: this.#tail, sizeBytes: this.#sizeBytes }
  }
}
