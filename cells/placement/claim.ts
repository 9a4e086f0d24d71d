import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, resourceProviders } from '../db/schema/placement.ts'
import { RESOURCE_CLASSES, type Resources } from './resources.ts'

const p = sql.placeholder

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

/**
 * Allocates the resources to the consumer if the provider still has them all; false, and nothing changed, when it
 * has not. One conditional update decides, so however many claim at once, a provider is never overbooked.
 */
export async function claim(
  tx: Tx,
  provider: HostId,
  consumer: string,
  resources: Resources,
): Promise<boolean> {
  const { affectedRows } = await tx.run(TAKE, { provider, ...resources })
  if (affectedRows !== 1) return false
  tx.queue(ALLOCATE, { consumer, provider, ...resources })
  return true
}
