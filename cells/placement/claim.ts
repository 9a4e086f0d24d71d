import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, customResources, resourceProviders } from '../db/schema/placement.ts'
import { RESOURCE_CLASSES, type Resources } from './resources.ts'
import { queueAmountsReturn } from './return-amounts.ts'

const p = sql.placeholder
/** The largest number of instances that the column holds. */
const NO_LIMIT = 2 ** 31 - 1

const TAKE = statement(
  builder
    .update(resourceProviders)
    .set({
      vcpusUsed: sql`vcpus_used + ${p('vcpus')}`,
      memoryMbUsed: sql`memory_mb_used + ${p('memoryMb')}`,
      diskGbUsed: sql`disk_gb_used + ${p('diskGb')}`,
      instances: sql`instances + 1`,
      generation: sql`generation + 1`,
    })
    .where(
      and(
        eq(resourceProviders.id, p('provider')),
        sql`vcpus_used + ${p('vcpus')} <= vcpus_limit`,
        sql`memory_mb_used + ${p('memoryMb')} <= memory_mb_limit`,
        sql`disk_gb_used + ${p('diskGb')} <= disk_gb_limit`,
        sql`instances < ${p('instancesMax')}`,
      ),
    ),
)

const ALLOCATE = statement(
  builder.insert(allocations).values(
    Object.entries(RESOURCE_CLASSES).map(([amount, resourceClass]) => ({
      consumerId: p('consumer'),
      providerId: p('provider'),
      resourceClass,
      used: p(amount),
      createdAt: sql`now(3)`,
    })),
  ),
)

const TAKE_CUSTOM = statement(
  builder
    .update(customResources)
    .set({ used: sql`${customResources.used} + ${p('amount')}` })
    .where(
      and(
        eq(customResources.providerId, p('provider')),
        eq(customResources.resourceClass, p('resourceClass')),
        sql`${customResources.used} + ${p('amount')} <= ${customResources.limit}`,
      ),
    ),
)

/** A row of what a consumer has of a custom class. */
export const ALLOCATE_CUSTOM = statement(
  builder.insert(allocations).values({
    consumerId: p('consumer'),
    providerId: p('provider'),
    resourceClass: p('resourceClass'),
    used: p('amount'),
    createdAt: sql`now(3)`,
  }),
)

/**
 * Allocates the resources to the consumer if the provider still has them all, and has fewer instances than
 * `instancesMax`; false, and nothing changed, when it has not. One conditional update decides, so concurrent claims never overbook a provider. The provider's row is the
 * first that is locked, so no other transaction sees custom classes taken and given back.
 */
export async function claim(
  tx: Tx,
  provider: HostId,
  consumer: string,
  resources: Resources,
  instancesMax = NO_LIMIT,
): Promise<boolean> {
  const { affectedRows } = await tx.run(TAKE, { provider, instancesMax, ...resources })
  if (affectedRows !== 1) return false
  const { custom = {}, ...counted } = resources
  for (const [index, [resourceClass, amount]] of Object.entries(custom).entries()) {
    const taken = await tx.run(TAKE_CUSTOM, { provider, resourceClass, amount })
    if (taken.affectedRows === 1) continue
    const before = Object.fromEntries(Object.entries(custom).slice(0, index))
    queueAmountsReturn(tx, provider, { ...counted, custom: before })
    return false
  }
  queueAllocations(tx, provider, consumer, resources)
  return true
}

export interface QueuedClaim {
  readonly otherwise: () => Error
  readonly instancesMax?: number | undefined
}

/** The same, only queued: the transaction fails with `otherwise` when the provider has them no longer. */
export function queueClaim(
  tx: Tx,
  provider: HostId,
  consumer: string,
  resources: Resources,
  { otherwise, instancesMax = NO_LIMIT }: QueuedClaim,
): void {
  const expected = { rows: 1, otherwise }
  tx.queue(TAKE, { provider, instancesMax, ...resources }, expected)
  for (const [resourceClass, amount] of Object.entries(resources.custom ?? {}))
    tx.queue(TAKE_CUSTOM, { provider, resourceClass, amount }, expected)
  queueAllocations(tx, provider, consumer, resources)
}

function queueAllocations(tx: Tx, provider: HostId, consumer: string, resources: Resources): void {
  for (const [resourceClass, amount] of Object.entries(resources.custom ?? {}))
    tx.queue(ALLOCATE_CUSTOM, { consumer, provider, resourceClass, amount })
  tx.queue(ALLOCATE, { consumer, provider, ...resources })
}
