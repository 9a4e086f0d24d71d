import type { operations } from '#openapi/compute.gen.ts'
import { setAggregateMetadata as set } from '../../../app/aggregates/set-aggregate-metadata.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const setAggregateMetadata: Handler<operations['setAggregateMetadata']> = async (call) => {
  const { app, params, body } = call
  const aggregate = await set(app.compute, params.aggregate_id, body.set_metadata.metadata)
  return { body: { aggregate: aggregateView(aggregate) } }
}
