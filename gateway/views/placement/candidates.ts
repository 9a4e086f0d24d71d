import type { Candidate, Candidates } from '../../app/placement/candidates.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { isSince } from '../since.ts'

/** Each candidate in the shape in which clients would write it as allocations. */
export function candidatesView(
  { candidates, trees, requested }: Candidates,
  context: RequestContext,
) {
  const used = new Set(candidates.flatMap(({ allocations }) => [...allocations.keys()]))
  const showsTrees = isSince(context, '1.29')
  const summarized = trees.flat().filter((provider) => showsTrees || used.has(provider))
  return {
    allocation_requests: candidates.map((candidate) => requestView(candidate, context)),
    provider_summaries: Object.fromEntries(
      summarized.map((provider) => [provider.id, summaryView(provider, requested, context)]),
    ),
  }
}

function requestView({ allocations, mappings }: Candidate, context: RequestContext) {
  const held = [...allocations]
  return {
    allocations: isSince(context, '1.12')
      ? Object.fromEntries(held.map(([{ id }, resources]) => [id, { resources }]))
      : held.map(([{ id: uuid }, resources]) => ({ resource_provider: { uuid }, resources })),
    mappings: Object.fromEntries(
      [...mappings].map(([suffix, providers]) => [suffix, providers.map(({ id }) => id)]),
    ),
  }
}

function summaryView(
  { inventories, traits, parentId, rootId }: Provider,
  requested: ReadonlySet<string>,
  context: RequestContext,
) {
  const showsAll = isSince(context, '1.27')
  const shown = [...inventories].filter(([name]) => showsAll || requested.has(name))
  return {
    resources: Object.fromEntries(
      shown.map(([name, { capacity, used }]) => [name, { capacity, used }]),
    ),
    traits,
    parent_provider_uuid: parentId,
    root_provider_uuid: rootId,
  }
}
