import type { Image } from '../../db/image.ts'
import { imageView } from './image.ts'

/** A page of images; `search` is the query it was asked with. openstacksdk takes the version off `next`. */
export function imageListView(
  images: readonly Image[],
  nextMarker: string | undefined,
  search: string,
) {
  return {
    images: images.map(imageView),
    first: pathWith(search, undefined),
    ...(nextMarker === undefined ? {} : { next: pathWith(search, nextMarker) }),
    schema: '/v2/schemas/images',
  }
}

function pathWith(search: string, marker: string | undefined): string {
  const query = new URLSearchParams(search)
  if (marker === undefined) query.delete('marker')
  else query.set('marker', marker)
  const text = query.toString()
  return text === '' ? '/v2/images' : `/v2/images?${text}`
}
