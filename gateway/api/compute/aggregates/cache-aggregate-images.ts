import type { operations } from '#openapi/compute.gen.ts'
import { cacheImages } from '../../../app/aggregates/cache-images.ts'
import type { Handler } from '../../../http/operation.ts'

export const cacheAggregateImages: Handler<operations['cacheAggregateImages']> = async (call) => {
  const { app, params, body } = call
  await cacheImages(
    app.db,
    params.aggregate_id,
    body.cache.map(({ id }) => id),
  )
  return {}
}
