import type { ImageContent } from '../../db/image.ts'

/** Headers of a download, as Glance sends them: the MD5 in hexadecimal. */
export function contentHeaders(content: ImageContent): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(content.sizeBytes),
    'Content-MD5': content.md5,
    'Accept-Ranges': 'bytes',
    ETag: contentTag(content),
  }
}

/** The entity tag of a content (RFC 9110): the same bytes have the same. */
export function contentTag({ sha256 }: ImageContent): string {
  return `"${sha256}"`
}

/** What differs when only a part is sent. */
export function partHeaders(
  { sizeBytes }: ImageContent,
  { first, last }: { readonly first: number; readonly last: number },
): Readonly<Record<string, string>> {
  return {
    'Content-Length': String(last - first + 1),
    'Content-Range': `bytes ${first}-${last}/${sizeBytes}`,
  }
}
