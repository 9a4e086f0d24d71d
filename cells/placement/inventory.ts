import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { customResources, resourceProviders } from '../db/schema/placement.ts'
import { type AllocationRatios, limitsOf } from './ratios.ts'
import type { Resources } from './resources.ts'

const p = sql.placeholder

const PUT_PROVIDER = statement(
  builder
    .insert(resourceProviders)
    .values({
      id: p('provider'),
      name: p('name'),
      generation: 1,
      vcpusLimit: p('vcpus'),
      memoryMbLimit: p('memoryMb'),
      diskGbLimit: p('diskGb'),
    })
    .onDuplicateKeyUpdate({
      set: {
        name: sql`values(name)`,
        generation: sql`generation + 1`,
        vcpusLimit: sql`values(vcpus_limit)`,
        memoryMbLimit: sql`values(memory_mb_limit)`,
        diskGbLimit: sql`values(disk_gb_limit)`,
      },
    }),
)

/** Servers may still hold resources that are no longer offered. */
const WITHDRAW_CUSTOM = statement(
  builder
    .update(customResources)
    .set({ limit: 0 })
    .where(eq(customResources.providerId, p('provider'))),
)

const PUT_CUSTOM = statement(
  builder
    .insert(customResources)
    .values({ providerId: p('provider'), resourceClass: p('resourceClass'), limit: p('limit') })
    .onDuplicateKeyUpdate({ set: { limit: sql`values(${customResources.limit})` } }),
)

export interface ProviderInventory {
  readonly provider: HostId
  readonly name: string
  readonly total: Resources
  readonly ratios: AllocationRatios
}

/** Afterwards the provider exists and offers this much; its allocations stay. */
export async function putInventory(tx: Tx, inventory: ProviderInventory): Promise<void> {
  const { provider, name, total, ratios } = inventory
  await tx.run(PUT_PROVIDER, { provider, name, ...limitsOf(total, ratios) })
  if (total.custom === undefined) return
  await tx.run(WITHDRAW_CUSTOM, { provider })
  for (const [resourceClass, limit] of Object.entries(total.custom))
    await tx.run(PUT_CUSTOM, { provider, resourceClass, limit })
}
