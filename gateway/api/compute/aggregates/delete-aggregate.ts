import type { operations } from '#openapi/compute.gen.ts'
import { deleteAggregate as remove } from '../../../app/aggregates/delete-aggregate.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteAggregate: Handler<operations['deleteAggregate']> = async ({ app, params }) => {
  await remove(app.db, params.aggregate_id)
  return {}
}
