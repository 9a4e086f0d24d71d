import type { operations } from '#openapi/placement.gen.ts'
import { consumerAllocations } from '../../app/placement/allocations.ts'
import { allocationCandidates } from '../../app/placement/candidates.ts'
import type { Handler } from '../../http/operation.ts'
import { consumerAllocationView } from '../../views/placement/allocations.ts'
import { candidatesView } from '../../views/placement/candidates.ts'
import { freshness } from '../../views/placement/freshness.ts'
import { isSince } from '../../views/since.ts'

/** GET /allocation_candidates */
export const listAllocationCandidates: Handler<operations['listAllocationCandidates']> = async ({
  app,
  context,
  query,
}) => {
  // Before it, the parts of hosts gave nothing to candidates.
  const candidates = await allocationCandidates(app.db, { ...query }, isSince(context, '1.29'))
  return { body: candidatesView(candidates, context), headers: freshness(Date.now()) }
}

/** GET /allocations/{consumer_uuid} */
export const showAllocations: Handler<operations['showAllocations']> = async ({ app, params }) => {
  const found = await consumerAllocations(app.db, params.consumer_uuid)
  return { body: consumerAllocationView(found), headers: freshness(Date.now()) }
}
