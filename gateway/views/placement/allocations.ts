import {
  type Allocation,
  CONSUMER_TYPE,
  type consumerAllocations,
  type ProjectUsages,
} from '../../app/placement/allocations.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { isSince } from '../since.ts'

/** By server. */
export function providerAllocationsView(provider: Provider, allocations: readonly Allocation[]) {
  const entries = allocations.map(({ consumer, resources }) => [
    consumer.serverId,
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
    consumer_type: CONSUMER_TYPE,
  }
}

/** Flat until microversion 1.37; then by type of consumer. */
export function totalUsagesView(
  { resources, consumers }: ProjectUsages,
  type: string | undefined,
  context: RequestContext,
) {
  if (!isSince(context, '1.38')) return { usages: resources }
  const isOther = type !== undefined && type !== 'all' && type !== CONSUMER_TYPE
  if (consumers === 0 || isOther) return { usages: {} }
  const name = type === 'all' ? 'all' : CONSUMER_TYPE
  return { usages: { [name]: { ...resources, consumer_count: consumers } } }
}
