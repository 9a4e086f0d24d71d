import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { ContentStore } from '#gateway/app/images/store/content-store.ts'

/** Afterwards the store has each of these contents, from the files in a folder. Returns how many it did not have. */
export async function restoreImages(
  folder: string,
  digests: readonly string[],
  store: ContentStore,
): Promise<number> {
  const stored = new Set<string>()
  for await (const sha256 of store.stored(new Date())) stored.add(sha256)
  const missing = digests.filter((sha256) => !stored.has(sha256))
  for (const sha256 of missing) {
    await using incoming = await store.receive()
    for await (const chunk of createReadStream(join(folder, sha256)))
      await incoming.write(chunk as Buffer)
    await incoming.flush(sha256)
    await incoming.keep(sha256)
  }
  return missing.length
}
