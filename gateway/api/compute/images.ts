import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import {
  deleteProxiedImage,
  imageMetadataItem,
  proxiedImage,
  deleteImageMetadataItem as remove,
  setImageMetadata,
} from '../../app/images/image-metadata.ts'
import { type ImageList, listImages as readImages } from '../../app/images/list-images.ts'
import { proxiedQuery } from '../../app/images/proxied-query.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { proxiedImageSummary, proxiedImageView } from '../../views/proxied-image.ts'
import { nextPageLinks } from './page.ts'

type Listing = Call<operations['listImages'] | operations['listImagesDetail']>

/** The body of a page of images, each shown by `view`. A property's name may be anything, so the query is read as it came. */
async function imagePage<V>(call: Listing, view: (image: ImageList['images'][number]) => V) {
  const { app, context, query, raw } = call
  const limit = pageLimit(query.limit)
  const asked = proxiedQuery(queryPairs(raw.search)).filter(([name]) => name !== 'limit')
  const { images } = await readImages(app.images, context, [...asked, ['limit', String(limit)]])
  const last = images.at(-1)?.id
  const next = nextPageLinks(call, 'images_links', { size: images.length, limit, last })
  return { images: images.map(view), ...next }
}

const deleteImage: Handler<operations['deleteImage']> = async (call) => {
  const { app, context, params } = call
  await deleteProxiedImage(app.images, context, params.image_id)
  return {}
}

const deleteImageMetadataItem: Handler<operations['deleteImageMetadataItem']> = async (call) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id, params.key)
  return {}
}

const listImageMetadata: Handler<operations['listImageMetadata']> = async (call) => {
  const { app, context, params } = call
  const { properties } = await proxiedImage(app.images, context, params.image_id)
  return { body: { metadata: properties } }
}

const listImages: Handler<operations['listImages']> = async (call) => {
  return { body: await imagePage(call, (image) => proxiedImageSummary(image, call.links)) }
}

const listImagesDetail: Handler<operations['listImagesDetail']> = async (call) => {
  return { body: await imagePage(call, (image) => proxiedImageView(image, call.links)) }
}

const replaceImageMetadata: Handler<operations['replaceImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: false }
  const metadata = await setImageMetadata(app.images, context, params.image_id, change)
  return { body: { metadata } }
}

const showImage: Handler<operations['showImage']> = async (call) => {
  const { app, context, params, links } = call
  const image = await proxiedImage(app.images, context, params.image_id)
  return { body: { image: proxiedImageView(image, links) } }
}

const showImageMetadataItem: Handler<operations['showImageMetadataItem']> = async (call) => {
  const { app, context, params } = call
  const meta = await imageMetadataItem(app.images, context, params.image_id, params.key)
  return { body: { meta } }
}

const updateImageMetadata: Handler<operations['updateImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: true }
  const metadata = await setImageMetadata(app.images, context, params.image_id, change)
  return { body: { metadata } }
}

const updateImageMetadataItem: Handler<operations['updateImageMetadataItem']> = async (call) => {
  const { app, context, params, body } = call
  const { meta } = body
  if (!Object.hasOwn(meta, params.key))
    throw new Failure('invalid', 'Request body and URI mismatch: meta must hold the key of the URI')
  await setImageMetadata(app.images, context, params.image_id, { items: meta, keep: true })
  return { body: { meta } }
}

/** The proxies for images, which clients from before microversion 2.36 still call. */
export const imageHandlers = {
  deleteImage,
  deleteImageMetadataItem,
  listImageMetadata,
  listImages,
  listImagesDetail,
  replaceImageMetadata,
  showImage,
  showImageMetadataItem,
  updateImageMetadata,
  updateImageMetadataItem,
}
