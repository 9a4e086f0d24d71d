import type { operations } from '#openapi/placement.gen.ts'
import { consumerAllocation } from '../../../app/placement/allocations.ts'
import type { Handler } from '../../../http/operation.ts'
import { consumerAllocationView } from '../../../views/placement/allocations.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /allocations/{consumer_uuid} */
export const showAllocations: Handler<operations['showAllocations']> = async ({ app, params }) => {
  const found = await consumerAllocation(app.db, params.consumer_uuid)
  return { body: consumerAllocationView(found), headers: freshness(Date.now()) }
}
