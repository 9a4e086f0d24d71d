import { createHash } from 'node:crypto'

/** In hexadecimal. */
export interface Digests {
  readonly md5: string
  readonly sha256: string
  readonly sha512: string
}

/** The digests by which the image service knows a content that passes by in chunks. */
export class ContentDigests {
  readonly #md5 = createHash('md5')
  readonly #sha256 = createHash('sha256')
  readonly #sha512 = createHash('sha512')

  update(chunk: Uint8Array): void {
    this.#md5.update(chunk)
    this.#sha256.update(chunk)
    this.#sha512.update(chunk)
  }

  digests(): Digests {
    return {
      md5: this.#md5.digest('hex'),
      sha256: this.#sha256.digest('hex'),
      sha512: this.#sha512.digest('hex'),
    }
  }
}
