import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import { imageCaches } from '../../app/federation/image-caches.ts'
import {
  type HostCopy,
  imageCopies,
  type UnreachableHost,
} from '../../app/federation/image-copies.ts'
import { type PreloadedImage, preloadImage as preload } from '../../app/federation/preload-image.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/images/{image}/copies */
export const listImageCopies: Handler<operations['listImageCopies']> = async (call) => {
  const { app, context, params, query } = call
  const { cells } = app.compute
  const cellId =
    query.cell === undefined ? undefined : (await findOperatedCell(app.db, cells, query.cell)).id
  const asked = { image: params.image, cellId }
  const { imageId, copies, unreachable } = await imageCopies(app.compute, context, asked)
  const hosts = unreachable.map(unreachableHostView)
  return {
    body: {
      image_id: imageId,
      copies: copies.map(imageCopyView),
      unreachable: hosts,
      silent: hosts,
    },
  }
}

/** A host's copy of an image as the federation API shows it. */
function imageCopyView({ cell, host, name, sizeBytes }: HostCopy) {
  return {
    cell_id: cell.id,
    cell: cell.name,
    ...hostNames(host),
    name,
    size_bytes: sizeBytes,
  }
}

function unreachableHostView({ host, reason }: UnreachableHost) {
  return { ...hostNames(host), reason }
}

/** GET /v1/images/{image}/caches */
export const listImageCaches: Handler<operations['listImageCaches']> = async ({
  app,
  context,
  params,
}) => {
  const found = await imageCaches(app.compute, context, params.image)
  return {
    body: {
      image_id: found.imageId,
      caches: found.caches.map(cachedImageView),
      unreachable: found.unreachable.map(({ cell, reason }) => ({
        cell_id: cell.id,
        cell: cell.name,
        reason,
      })),
    },
  }
}

/** PUT /v1/images/{image}/caches/{cell} */
export const preloadImage: Handler<operations['preloadImage']> = async ({
  app,
  context,
  params,
}) => ({ body: cachedImageView(await preload(app.compute, context, params)) })

/** An image in the cache of a cell as the federation API shows it. */
function cachedImageView({ imageId, cell, state, sizeBytes, fetchedBytes }: PreloadedImage) {
  return {
    image_id: imageId,
    cell_id: cell.id,
    cell: cell.name,
    state,
    size_bytes: sizeBytes,
    fetched_bytes: fetchedBytes,
  }
}

function hostNames({ view }: HostCopy['host']) {
  return { host_id: view.hostId, host: view.name }
}
