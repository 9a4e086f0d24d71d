import type { operations } from '#openapi/image.gen.ts'
import { createImage as create } from '../../app/images/create-image.ts'
import { deleteImage as remove } from '../../app/images/delete-image.ts'
import { listImages as listPage } from '../../app/images/list-images.ts'
import {
  deactivateImage as deactivate,
  reactivateImage as reactivate,
} from '../../app/images/set-active.ts'
import { updateImage as update } from '../../app/images/update-image.ts'
import { visibleImage } from '../../app/images/visible-image.ts'
import type { Image } from '../../db/image.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { imageView } from '../../views/image/image.ts'
import { IMPORT_HEADERS } from '../../views/image/info.ts'

/** POST /v2/images */
export const createImage: Handler<operations['createImage']> = async (call) => {
  const { app, context, body, links } = call
  const image = await create(app.images, context, body)
  return {
    body: imageView(image),
    headers: { Location: links.to(`/image/v2/images/${image.id}`), ...IMPORT_HEADERS },
  }
}

/** POST /v2/images/{image_id}/actions/deactivate */
export const deactivateImage: Handler<operations['deactivateImage']> = async (call) => {
  const { app, context, params } = call
  await deactivate(app.images, context, params.image_id)
  return {}
}

/** DELETE /v2/images/{image_id} */
export const deleteImage: Handler<operations['deleteImage']> = async (call) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id)
  return {}
}

/** GET /v2/images: any parameter may be a property's name, so the query is read as it came. */
export const listImages: Handler<operations['listImages']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.images, context, queryPairs(raw.search))
  return { body: imageListView(page.images, page.nextMarker, raw.search) }
}

/** POST /v2/images/{image_id}/actions/reactivate */
export const reactivateImage: Handler<operations['reactivateImage']> = async (call) => {
  const { app, context, params } = call
  await reactivate(app.images, context, params.image_id)
  return {}
}

/** GET /v2/images/{image_id} */
export const showImage: Handler<operations['showImage']> = async (call) => {
  const { app, context, params } = call
  return { body: imageView(await visibleImage(app.images, context, params.image_id)) }
}

/** PATCH /v2/images/{image_id} */
export const updateImage: Handler<operations['updateImage']> = async (call) => {
  const { app, context, params, body } = call
  return { body: imageView(await update(app.images, context, params.image_id, body)) }
}

/** A page of images; `search` is the query it was asked with. openstacksdk takes the version off `next`. */
function imageListView(images: readonly Image[], nextMarker: string | undefined, search: string) {
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
