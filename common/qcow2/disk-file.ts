import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { DiskBytes } from './disk-bytes.ts'

/** The bytes of a file. */
export async function diskFile(path: string): Promise<DiskBytes> {
  const { size: sizeBytes } = await stat(path)
  const read = async (first: number, length: number) => {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, first)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  }
  return { sizeBytes, read, stream: () => createReadStream(path) }
}
