import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { Failure } from '#common/errors.ts'
import type { ImageSpec } from '../../driver.ts'

/** `image`: what `docker save` writes; `files`: the files of a root file system. */
export type ArchiveKind = 'image' | 'files'

export const MANIFEST = 'manifest.json'

/** The kind of content of a tar archive, from its table of contents. Throws `invalid` for any other file. */
export async function archiveKind(
  image: ImageSpec,
  path: string,
  signal: AbortSignal,
): Promise<ArchiveKind> {
  let entries = 0
  let hasManifest = false
  const reader = extract()
  reader.on('entry', ({ name }, content, next) => {
    entries += 1
    hasManifest ||= name === MANIFEST
    content.on('end', next).resume()
  })
  try {
    await pipeline(createReadStream(path), reader, { signal })
  } catch (cause) {
    signal.throwIfAborted()
    throw new Failure('invalid', `Image ${image.id} is no tar archive.`, { cause })
  }
  if (entries === 0) throw new Failure('invalid', `Image ${image.id} is no tar archive.`)
  return hasManifest ? 'image' : 'files'
}
