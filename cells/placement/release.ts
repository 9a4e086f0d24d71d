import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, resourceProviders } from '../db/schema/placement.ts'
import { RESOURCE_CLASSES } from './resources.ts'

const p = sql.placeholder

const HELD = statement(
  builder
    .select({
      provider_id: allocations.providerId,
      resource_class: allocations.resourceClass,
      used: allocations.used,
    })
    .from(allocations)
    .where(eq(allocations.consumerId, p('consumer')))
    .for('update'),
)

const FORGET = statement(
  builder.delete(allocations).where(eq(allocations.consumerId, p('consumer'))),
)

const GIVE_BACK = statement(
  builder
    .update(resourceProviders)
    .set({
      vcpusUsed: sql`vcpus_used - ${p('VCPU')}`,
      memoryMbUsed: sql`memory_mb_used - ${p('MEMORY_MB')}`,
      diskGbUsed: sql`disk_gb_used - ${p('DISK_GB')}`,
      instances: sql`instances - 1`,
      generation: sql`generation + 1`,
    })
    .where(and(eq(resourceProviders.id, p('provider')))),
)

interface Held {
  readonly provider_id: HostId
  readonly resource_class: string
  readonly used: number
}

/** Afterwards the consumer holds nothing. Only what its rows say is given back, so repeating gives back nothing more. */
export async function release(tx: Tx, consumer: string): Promise<void> {
  const held = await tx.rows<Held>(HELD, { consumer })
  if (held.length === 0) return
  tx.queue(FORGET, { consumer })
  for (const provider of new Set(held.map((row) => row.provider_id))) {
    const amounts: Record<string, number> = {}
    for (const resourceClass of Object.values(RESOURCE_CLASSES)) amounts[resourceClass] = 0
    for (const row of held) if (row.provider_id === provider) amounts[row.resource_class] = row.used
    tx.queue(GIVE_BACK, { provider, ...amounts })
  }
}
