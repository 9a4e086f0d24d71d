import type { operations } from '#openapi/compute.gen.ts'
import { type ImageList, listImages } from '../../../app/images/list-images.ts'
import { proxiedQuery } from '../../../app/images/proxied-query.ts'
import type { Call } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { nextPageLinks } from '../page.ts'

type Listing = Call<operations['listImages'] | operations['listImagesDetail']>

/** The body of a page of images, each shown by `view`. A property's name may be anything, so the query is read as it came. */
export async function imagePage<V>(call: Listing, view: (image: ImageList['images'][number]) => V) {
  const { app, context, query, raw } = call
  const limit = pageLimit(query.limit)
  const asked = proxiedQuery(queryPairs(raw.search)).filter(([name]) => name !== 'limit')
  const { images } = await listImages(app.images, context, [...asked, ['limit', String(limit)]])
  const last = images.at(-1)?.id
  const next = nextPageLinks(call, 'images_links', { size: images.length, limit, last })
  return { images: images.map(view), ...next }
}
