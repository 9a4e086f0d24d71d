import type { DiskBytes } from '#common/qcow2/disk-bytes.ts'
import type { ContentStore } from './content-store.ts'

/** The bytes of a content, read where it is. Reading throws `unavailable` as the store does. */
export function storedDisk(
  store: Pick<ContentStore, 'read'>,
  { sha256, sizeBytes }: { readonly sha256: string; readonly sizeBytes: number },
): DiskBytes {
  return {
    sizeBytes,
    async read(first, length) {
      const last = Math.min(first + length, sizeBytes) - 1
      if (last < first) return Buffer.alloc(0)
      const chunks: Uint8Array[] = []
      for await (const chunk of (await store.read(sha256, { first, last })).stream)
        chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    async *stream() {
      yield* (await store.read(sha256)).stream
    },
  }
}
