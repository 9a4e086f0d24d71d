import type { operations } from '#openapi/image.gen.ts'
import { listImages as listPage } from '../../../app/images/list-images.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { imageListView } from '../../../views/image/image-list.ts'

/** GET /v2/images: any parameter may be a property's name, so the query is read as it came. */
export const listImages: Handler<operations['listImages']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.images, context, queryPairs(raw.search))
  return { body: imageListView(page.images, page.nextMarker, raw.search) }
}
