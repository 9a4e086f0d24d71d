import type { operations } from '#openapi/placement.gen.ts'
import { allocationCandidates } from '../../../app/placement/candidates.ts'
import type { Handler } from '../../../http/operation.ts'
import { candidatesView } from '../../../views/placement/candidates.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /allocation_candidates */
export const listAllocationCandidates: Handler<operations['listAllocationCandidates']> = async ({
  app,
  context,
  query,
}) => {
  const candidates = await allocationCandidates(app.db, query)
  return { body: candidatesView(candidates, context), headers: freshness(Date.now()) }
}
