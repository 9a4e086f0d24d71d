import type { operations } from '#openapi/placement.gen.ts'
import { consumerAllocation } from '../../app/placement/allocations.ts'
import { allocationCandidates, type Candidates } from '../../app/placement/candidates.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { RequestedAmounts } from '../../app/placement/resource-classes.ts'
import type { RequestContext } from '../../app/request-context.ts'
import type { Handler } from '../../http/operation.ts'
import { consumerAllocationView } from '../../views/placement/allocations.ts'
import { freshness } from '../../views/placement/freshness.ts'
import { isSince } from '../../views/since.ts'

/** GET /allocation_candidates */
export const listAllocationCandidates: Handler<operations['listAllocationCandidates']> = async ({
  app,
  context,
  query,
}) => {
  const candidates = await allocationCandidates(app.db, query)
  return { body: candidatesView(candidates, context), headers: freshness(Date.now()) }
}

/** GET /allocations/{consumer_uuid} */
export const showAllocations: Handler<operations['showAllocations']> = async ({ app, params }) => {
  const found = await consumerAllocation(app.db, params.consumer_uuid)
  return { body: consumerAllocationView(found), headers: freshness(Date.now()) }
}

/** One request per host, in the shape in which clients would write it as allocations. */
function candidatesView({ providers, requested }: Candidates, context: RequestContext) {
  const resources = Object.fromEntries(requested)
  const isWritable = isSince(context, '1.12')
  return {
    allocation_requests: providers.map(({ id }) => ({
      allocations: isWritable
        ? { [id]: { resources } }
        : [{ resource_provider: { uuid: id }, resources }],
      mappings: { '': [id] },
    })),
    provider_summaries: Object.fromEntries(
      providers.map((provider) => [provider.id, summary(provider, requested, context)]),
    ),
  }
}

function summary(provider: Provider, requested: RequestedAmounts, context: RequestContext) {
  const showsAll = isSince(context, '1.27')
  const shown = [...provider.inventories].filter(([name]) => showsAll || requested.has(name))
  return {
    resources: Object.fromEntries(
      shown.map(([name, { capacity, used }]) => [name, { capacity, used }]),
    ),
    traits: provider.traits,
    parent_provider_uuid: null,
    root_provider_uuid: provider.id,
  }
}
