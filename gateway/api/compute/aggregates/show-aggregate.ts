import type { operations } from '#openapi/compute.gen.ts'
import { showAggregate as show } from '../../../app/aggregates/find-aggregate.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const showAggregate: Handler<operations['showAggregate']> = async ({ app, params }) => {
  const aggregate = await show(app.db, params.aggregate_id)
  return { body: { aggregate: aggregateView(aggregate) } }
}
