import type { ImageContent } from '../../db/image.ts'

/** Headers of a download, as Glance sends them: the MD5 in hexadecimal. */
export function contentHeaders(content: ImageContent): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(content.sizeBytes),
    'Content-MD5': content.md5,
  }
}
