import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Keeps this key apart from others made of the same material. */
const INFO = 'weir backups v1'
/** Of the text in each part but the last; an S3 takes 10,000 parts, so files may have 156 GiB. */
export const PART_BYTES = 16 * 2 ** 20
export const SEALED_PART_BYTES = PART_BYTES + NONCE_BYTES + TAG_BYTES

/** The key with which backups outside of a deployment are encrypted, made of the key of its gateways. */
export function backupKey(hexKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', Buffer.from(hexKey, 'hex'), '', INFO, KEY_BYTES))
}

/** How many bytes a file of this size has once it is encrypted. */
export function sealedSize(bytes: number): number {
  return bytes + Math.max(1, Math.ceil(bytes / PART_BYTES)) * (NONCE_BYTES + TAG_BYTES)
}

/** The encrypted parts of a file. Each is bound to its name, its place, and whether it is the last: none can be left out. */
export async function* sealFile(file: string, name: string, key: Buffer): AsyncGenerator<Buffer> {
  await using handle = await open(file, 'r')
  const { size } = await handle.stat()
  const count = Math.max(1, Math.ceil(size / PART_BYTES))
  for (let nth = 0; nth < count; nth += 1) {
    const text = Buffer.alloc(Math.min(PART_BYTES, size - nth * PART_BYTES))
    const { bytesRead } = await handle.read(text, 0, text.length, nth * PART_BYTES)
    if (bytesRead !== text.length)
      throw new Failure('conflict', `${file} has changed while it was read.`)
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, key, nonce)
    cipher.setAAD(labelOf(name, nth, nth === count - 1))
    const sealed = Buffer.concat([cipher.update(text), cipher.final()])
    yield Buffer.concat([nonce, cipher.getAuthTag(), sealed])
  }
}

/** The text of an encrypted file, part by part. Throws `invalid` for a part that was changed, and for another key. */
export async function* openSealed(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  key: Buffer,
): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = []
  let size = 0
  let nth = 0
  for await (const chunk of chunks) {
    held.push(chunk)
    size += chunk.length
    // A part is the last if nothing follows it.
    for (; size > SEALED_PART_BYTES; nth += 1) {
      const bytes = Buffer.concat(held)
      const part = bytes.subarray(0, SEALED_PART_BYTES)
      yield openPart(part, labelOf(name, nth, false), name, key)
      held = [bytes.subarray(SEALED_PART_BYTES)]
      size -= SEALED_PART_BYTES
    }
  }
  yield openPart(Buffer.concat(held), labelOf(name, nth, true), name, key)
}

function openPart(part: Buffer, label: Buffer, name: string, key: Buffer): Buffer {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, part.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(label)
    decipher.setAuthTag(part.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([
      decipher.update(part.subarray(NONCE_BYTES + TAG_BYTES)),
      decipher.final(),
    ])
  } catch (cause) {
    throw new Failure(
      'invalid',
      `${name} cannot be decrypted: it is damaged, or was encrypted with another key. Name the gateways' key from the time of the backup: --key-file FILE`,
      { cause },
    )
  }
}

function labelOf(name: string, nth: number, isLast: boolean): Buffer {
  return Buffer.from(`${name}\n${nth}\n${isLast ? 'last' : 'more'}`)
}
