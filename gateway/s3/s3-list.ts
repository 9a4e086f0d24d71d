import { XMLParser } from 'fast-xml-parser'
import { Failure } from '#common/errors.ts'
import type { S3Client } from './s3-client.ts'

export interface S3Object {
  readonly key: string
  /** When it was written; of an object in several parts, at the latest when its first one was begun. */
  readonly writtenAt: Date
}

interface Page {
  readonly ListBucketResult?: {
    readonly IsTruncated?: string
    readonly Contents?: readonly { readonly Key?: string; readonly LastModified?: string }[]
  }
}

const parser = new XMLParser({
  parseTagValue: false,
  // Keys are ours and need none.
  processEntities: false,
  isArray: (name) => name === 'Contents',
})

/**
 * The objects whose keys begin so, in the order of their keys. Throws `unavailable` as the client does. The first version of
 * the list, whose pages continue after a key: every S3 has it.
 */
export async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<S3Object> {
  let marker: string | undefined
  do {
    const query = { prefix, ...(marker !== undefined && { marker }) }
    const { text } = await client.ask({ operation: 'list', method: 'GET', query })
    const page = (parser.parse(text) as Page).ListBucketResult
    if (page === undefined)
      throw new Failure('unavailable', 'The image store cannot be used right now.', {
        detail: `${client.settings.endpoint} did not answer with a list of objects`,
      })
    const objects = page.Contents ?? []
    for (const { Key: key, LastModified: at } of objects)
      if (key !== undefined && at !== undefined) yield { key, writtenAt: new Date(at) }
    marker = page.IsTruncated === 'true' ? objects.at(-1)?.Key : undefined
  } while (marker !== undefined)
}
