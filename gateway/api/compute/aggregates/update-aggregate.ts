import type { operations } from '#openapi/compute.gen.ts'
import { updateAggregate as update } from '../../../app/aggregates/update-aggregate.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const updateAggregate: Handler<operations['updateAggregate']> = async (call) => {
  const { app, params, body } = call
  const { name, availability_zone: zone } = body.aggregate
  const aggregate = await update(app.compute, params.aggregate_id, {
    ...(name !== undefined && { name }),
    ...(zone !== undefined && { zone }),
  })
  return { body: { aggregate: aggregateView(aggregate) } }
}
