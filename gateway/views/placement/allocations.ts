import {
  type Allocation,
  type consumerAllocations,
  type ProjectUsages,
} from '../../app/placement/allocations.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { isSince } from '../since.ts'

/** By consumer. */
export function providerAllocationsView(provider: Provider, allocations: readonly Allocation[]) {
  const entries = allocations.map(({ consumer, resources }) => [
    consumer.id,
    { resources, consumer_generation: consumer.version },
  ])
  return {
    allocations: Object.fromEntries(entries),
    resource_provider_generation: provider.generation,
  }
}

/** By provider. */
export function consumerAllocationView(found: Awaited<ReturnType<typeof consumerAllocations>>) {
  if (found === undefined) return { allocations: {} }
  const { consumer, held } = found
  const allocations = [...held].map(([{ id, generation }, resources]) => {
    return [id, { resources, generation }] as const
  })
  return {
    allocations: Object.fromEntries(allocations),
    project_id: consumer.projectId,
    user_id: consumer.userId,
    consumer_generation: consumer.version,
    consumer_type: consumer.type,
  }
}

/** Flat until microversion 1.37; then by type of consumer. */
export function totalUsagesView(
  { byType, all }: ProjectUsages,
  type: string | undefined,
  context: RequestContext,
) {
  if (!isSince(context, '1.38')) return { usages: all.resources }
  const isAll = type === 'all' && all.consumers > 0
  const named = isAll ? ([['all', all]] as const) : [...byType]
  const asked = named.filter(([name]) => isAll || type === undefined || name === type)
  const usages = asked.map(([name, { resources, consumers }]) => {
    return [name, { ...resources, consumer_count: consumers }] as const
  })
  return { usages: Object.fromEntries(usages) }
}
