import type { operations } from '#openapi/compute.gen.ts'
import { createAggregate as create } from '../../../app/aggregates/create-aggregate.ts'
import type { Handler } from '../../../http/operation.ts'
import { newAggregateView } from '../../../views/aggregate.ts'

export const createAggregate: Handler<operations['createAggregate']> = async ({ app, body }) => {
  const { name, availability_zone: zone = null } = body.aggregate
  const aggregate = await create(app.db, { name, zone })
  return { body: { aggregate: newAggregateView(aggregate) } }
}
