import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract, pack } from 'tar-stream'
import { Failure } from '#common/errors.ts'
import { MANIFEST } from './archive-kind.ts'

/** Other places where an archive may name its image; the manifest alone is enough for every engine. */
const OTHER_INDEXES: ReadonlySet<string> = new Set(['repositories', 'index.json', 'oci-layout'])

/**
 * The archive of one image, under this name alone. A name that came with it would take that name from whichever image
 * of the engine has it. Fails with `invalid` for an archive of none or several images.
 */
export function retagged(archive: Readable, name: string): Readable {
  const writer = pack()
  const reader = extract()
  reader.on('entry', (header, content, next) => {
    if (OTHER_INDEXES.has(header.name)) {
      content.on('end', next).resume()
    } else if (header.name === MANIFEST) {
      buffer(content)
        .then((text) => writer.entry({ name: MANIFEST }, renamed(text, name), next))
        .catch((error: unknown) => reader.destroy(error as Error))
    } else {
      content.pipe(writer.entry(header, next))
    }
  })
  reader.on('finish', () => writer.finalize())
  reader.on('error', (error: unknown) => writer.destroy(error as Error))
  archive.on('error', (error) => reader.destroy(error))
  archive.pipe(reader)
  return writer as unknown as Readable
}

function renamed(manifest: Buffer, name: string): string {
  const images = parsed(manifest)
  if (!Array.isArray(images) || images.length !== 1)
    throw new Failure('invalid', 'An image archive must hold exactly one image.')
  return JSON.stringify([{ ...(images[0] as object), RepoTags: [name] }])
}

function parsed(manifest: Buffer): unknown {
  try {
    return JSON.parse(manifest.toString('utf8'))
  } catch (cause) {
    throw new Failure('invalid', "The archive's manifest is no JSON.", { cause })
  }
}
