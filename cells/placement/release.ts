import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, groupMembers } from '../db/schema/placement.ts'
import { giveBack } from './give-back.ts'
import { leaveGroup } from './group.ts'
import { type CountedResource, RESOURCE_CLASSES, type Resources } from './resources.ts'

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
    const rows = held.filter((row) => row.provider_id === provider)
    giveBack(tx, provider, heldIn(rows))
  }
}

function heldIn(rows: readonly Held[]): Resources {
  const amounts = new Map(rows.map((row) => [row.resource_class, row.used]))
  const amount = (name: CountedResource) => amounts.get(RESOURCE_CLASSES[name]) ?? 0
  const counted = { vcpus: amount('vcpus'), memoryMb: amount('memoryMb'), diskGb: amount('diskGb') }
  for (const resourceClass of Object.values(RESOURCE_CLASSES)) amounts.delete(resourceClass)
  return { ...counted, custom: Object.fromEntries(amounts) }
}
