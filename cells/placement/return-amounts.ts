import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { customResources, resourceProviders } from '../db/schema/placement.ts'
import type { Resources } from './resources.ts'

const p = sql.placeholder

const RETURN_AMOUNTS = statement(
  builder
    .update(resourceProviders)
    .set({
      vcpusUsed: sql`vcpus_used - ${p('vcpus')}`,
      memoryMbUsed: sql`memory_mb_used - ${p('memoryMb')}`,
      diskGbUsed: sql`disk_gb_used - ${p('diskGb')}`,
      instances: sql`instances - ${p('instances')}`,
      generation: sql`generation + 1`,
    })
    .where(eq(resourceProviders.id, p('provider'))),
  { sums: ['vcpus', 'memoryMb', 'diskGb', 'instances'] },
)

const RETURN_CUSTOM_AMOUNTS = statement(
  builder
    .update(customResources)
    .set({ used: sql`${customResources.used} - ${p('amount')}` })
    .where(
      and(
        eq(customResources.providerId, p('provider')),
        eq(customResources.resourceClass, p('resourceClass')),
      ),
    ),
  { sums: ['amount'] },
)

/** Counts one consumer less on the provider, with what it held there. */
export function queueAmountsReturn(
  tx: Tx,
  provider: HostId,
  { custom = {}, ...held }: Resources,
): void {
  tx.queue(RETURN_AMOUNTS, { provider, instances: 1, ...held })
  for (const [resourceClass, amount] of Object.entries(custom))
    tx.queue(RETURN_CUSTOM_AMOUNTS, { provider, resourceClass, amount })
}
