import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, groupMembers, resourceProviders } from '../db/schema/placement.ts'
import { leaveGroup } from './group.ts'
import { RESOURCE_CLASSES } from './resources.ts'

const p = sql.placeholder

const HELD = statement(
  builder
    .select({
      provider_id: allocations.providerId,
      resource_class: allocations.resourceClass,
      used: allocations.used,
      group_id: groupMembers.groupId,
      host_id: groupMembers.hostId,
    })
    .from(allocations)
    .leftJoin(groupMembers, eq(groupMembers.consumerId, allocations.consumerId))
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
  /** Null: the consumer is in no group. */
  readonly group_id: string | null
  readonly host_id: HostId | null
}

/** Afterwards the consumer holds nothing and counts in no group. Only what its rows say is given back, so repeating gives back nothing more. */
export async function release(tx: Tx, consumer: string): Promise<void> {
  const held = await tx.rows<Held>(HELD, { consumer })
  const [first] = held
  if (first === undefined) return
  // Before the providers, as a claim locks them.
  if (first.group_id !== null && first.host_id !== null)
    await leaveGroup(tx, consumer, { groupId: first.group_id, hostId: first.host_id })
  tx.queue(FORGET, { consumer })
  for (const provider of new Set(held.map((row) => row.provider_id))) {
    const amounts: Record<string, number> = {}
    for (const resourceClass of Object.values(RESOURCE_CLASSES)) amounts[resourceClass] = 0
    for (const row of held) if (row.provider_id === provider) amounts[row.resource_class] = row.used
    tx.queue(GIVE_BACK, { provider, ...amounts })
  }
}
