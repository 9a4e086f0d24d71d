import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { readNodeClass } from '#common/numa-providers.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import { allocations, customResources, resourceProviders } from '../db/schema/placement.ts'
import { nodeResources } from './choose-nodes.ts'
import { ALLOCATE_CUSTOM } from './claim.ts'

const p = sql.placeholder
const isConsumers = and(
  eq(allocations.consumerId, p('consumer')),
  eq(allocations.providerId, p('provider')),
)

/** It keeps claims out until the transaction ends, and tells gateways that the usage has changed. */
const TOUCH = statement(
  builder
    .update(resourceProviders)
    .set({ generation: sql`generation + 1` })
    .where(eq(resourceProviders.id, p('provider'))),
)

const HELD = statement(
  builder
    .select({ resource_class: allocations.resourceClass, used: allocations.used })
    .from(allocations)
    .where(isConsumers)
    .for('update'),
)

const FORGET = statement(
  builder
    .delete(allocations)
    .where(and(isConsumers, eq(allocations.resourceClass, p('resourceClass')))),
)

/** A node that is not offered yet has a limit of 0 until it is. */
const COUNT = statement(
  builder
    .insert(customResources)
    .values({
      providerId: p('provider'),
      resourceClass: p('resourceClass'),
      limit: 0,
      used: p('amount'),
    })
    .onDuplicateKeyUpdate({ set: { used: sql`${customResources.used} + ${p('amount')}` } }),
)

/**
 * Afterwards the consumer, which has resources of the provider, holds just this of the provider's NUMA nodes, whether they
 * have as much or not: it is where its guest is. What it holds of the provider itself stays.
 */
export async function settleNodes(
  tx: Tx,
  provider: HostId,
  consumer: string,
  numa: NumaAllocation,
): Promise<void> {
  await tx.run(TOUCH, { provider })
  const held = await tx.rows<{ resource_class: string; used: number }>(HELD, { consumer, provider })
  for (const { resource_class: resourceClass, used } of held) {
    if (readNodeClass(resourceClass) === undefined) continue
    await tx.run(FORGET, { consumer, provider, resourceClass })
    await tx.run(COUNT, { provider, resourceClass, amount: -used })
  }
  for (const [resourceClass, amount] of Object.entries(nodeResources(numa).custom ?? {})) {
    await tx.run(COUNT, { provider, resourceClass, amount })
    await tx.run(ALLOCATE_CUSTOM, { consumer, provider, resourceClass, amount })
  }
}
