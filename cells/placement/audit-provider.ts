import { and, eq, sql } from 'drizzle-orm'
import type { Transactional } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, customResources, resourceProviders } from '../db/schema/placement.ts'
import { RESOURCE_CLASSES } from './resources.ts'

const p = sql.placeholder

const LOCK = statement(
  builder
    .select({
      VCPU: resourceProviders.vcpusUsed,
      MEMORY_MB: resourceProviders.memoryMbUsed,
      DISK_GB: resourceProviders.diskGbUsed,
      instances: resourceProviders.instances,
    })
    .from(resourceProviders)
    .where(eq(resourceProviders.id, p('provider')))
    .for('update'),
)

const HELD = statement(
  builder
    .select({
      resource_class: allocations.resourceClass,
      used: sql<number>`cast(sum(${allocations.used}) as double)`.as('held'),
      consumers: sql<number>`count(*)`.as('consumers'),
    })
    .from(allocations)
    .where(eq(allocations.providerId, p('provider')))
    .groupBy(allocations.resourceClass),
)

const CORRECT = statement(
  builder
    .update(resourceProviders)
    .set({
      vcpusUsed: sql`${p('VCPU')}`,
      memoryMbUsed: sql`${p('MEMORY_MB')}`,
      diskGbUsed: sql`${p('DISK_GB')}`,
      instances: sql`${p('instances')}`,
      generation: sql`generation + 1`,
    })
    .where(eq(resourceProviders.id, p('provider'))),
)

const CUSTOM = statement(
  builder
    .select({ resource_class: customResources.resourceClass, used: customResources.used })
    .from(customResources)
    .where(eq(customResources.providerId, p('provider'))),
)

const CORRECT_CUSTOM = statement(
  builder
    .update(customResources)
    .set({ used: sql`${p('held')}` })
    .where(
      and(
        eq(customResources.providerId, p('provider')),
        eq(customResources.resourceClass, p('resourceClass')),
      ),
    ),
)

interface CountedRow {
  readonly vcpus_used: number
  readonly memory_mb_used: number
  readonly disk_gb_used: number
  readonly instances: number
}

/**
 * Afterwards what a provider counts as used is the sum of its allocations; true when it was not. The provider's lock
 * keeps claims out meanwhile: each raises the counter before it adds its rows.
 */
export async function auditProvider(db: Transactional, provider: HostId): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [counted] = await tx.rows<CountedRow>(LOCK, { provider })
    if (counted === undefined) return false
    const rows = await tx.rows<{ resource_class: string; held: number; consumers: number }>(HELD, {
      provider,
    })
    const held = (resourceClass: string) =>
      rows.find((row) => row.resource_class === resourceClass)?.held ?? 0
    const amounts = {
      VCPU: held(RESOURCE_CLASSES.vcpus),
      MEMORY_MB: held(RESOURCE_CLASSES.memoryMb),
      DISK_GB: held(RESOURCE_CLASSES.diskGb),
      // Every consumer has a row of each of these, be it of 0.
      instances: rows.find((row) => row.resource_class === RESOURCE_CLASSES.vcpus)?.consumers ?? 0,
    }
    const wrong = (await tx.rows<{ resource_class: string; used: number }>(CUSTOM, { provider }))
      .map(({ resource_class: name, used }) => ({ name, used, held: held(name) }))
      .filter(({ used, held: sum }) => used !== sum)
    for (const { name: resourceClass, held: sum } of wrong)
      await tx.run(CORRECT_CUSTOM, { provider, resourceClass, held: sum })
    const isTrue =
      wrong.length === 0 &&
      counted.vcpus_used === amounts.VCPU &&
      counted.memory_mb_used === amounts.MEMORY_MB &&
      counted.disk_gb_used === amounts.DISK_GB &&
      counted.instances === amounts.instances
    if (!isTrue) await tx.run(CORRECT, { provider, ...amounts })
    return !isTrue
  })
}
