import type { operations } from '#openapi/compute.gen.ts'
import { addAggregateHost as add } from '../../../app/aggregates/change-members.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const addAggregateHost: Handler<operations['addAggregateHost']> = async (call) => {
  const { app, params, body } = call
  const aggregate = await add(app.compute, params.aggregate_id, body.add_host.host)
  return { body: { aggregate: aggregateView(aggregate) } }
}
