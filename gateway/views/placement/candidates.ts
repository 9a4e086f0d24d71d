import type { Candidates } from '../../app/placement/candidates.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { RequestedAmounts } from '../../app/placement/resource-classes.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { isSince } from '../since.ts'

/** One request per host, in the shape in which clients would write it as allocations. */
export function candidatesView({ providers, requested }: Candidates, context: RequestContext) {
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
