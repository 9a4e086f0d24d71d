import type { operations } from '#openapi/compute.gen.ts'
import { allAggregates } from '../../../app/aggregates/find-aggregate.ts'
import type { Handler } from '../../../http/operation.ts'
import { aggregateView } from '../../../views/aggregate.ts'

export const listAggregates: Handler<operations['listAggregates']> = async ({ app }) => {
  const aggregates = await allAggregates(app.db)
  return { body: { aggregates: aggregates.map(aggregateView) } }
}
