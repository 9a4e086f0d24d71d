import type { operations } from '#openapi/compute.gen.ts'
import { removeAggregateHost as remove } from '../../../app/aggregates/change-members.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const removeAggregateHost: Handler<operations['removeAggregateHost']> = async (call) => {
  const { app, params, body } = call
  const aggregate = await remove(app.compute, params.aggregate_id, body.remove_host.host)
  return { body: { aggregate: aggregateView(aggregate) } }
}
