import type { components } from '#openapi/federation.gen.ts'
import type { Listing } from '../output/view.ts'

export type CachedImage = components['schemas']['CachedImage']

/** An image in the cache of a cell. */
export const CACHED_IMAGE_LISTING: Listing<CachedImage> = {
  plural: 'caches',
  nameOf: ({ cell }) => cell,
  columns: [
    { head: 'CELL', of: ({ cell }) => cell },
    { head: 'IMAGE', of: ({ image_id }) => image_id },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'BYTES', of: ({ fetched_bytes }) => fetched_bytes },
  ],
}
