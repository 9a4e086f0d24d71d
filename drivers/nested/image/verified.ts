import { createHash } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { ImageSpec } from '../../driver.ts'

/** Passes the content on; throws `invalid` before its end when it is not what the image promises. */
export async function* verified(
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
