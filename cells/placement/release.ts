import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import { allocations, groupMembers } from '../db/schema/placement.ts'
import { serverMigrations } from '../db/schema/server-migrations.ts'
import { type GroupPlace, leaveGroup, queueLeaveGroup } from './group.ts'
import { type CountedResource, RESOURCE_CLASSES, type Resources } from './resources.ts'
import { queueAmountsReturn } from './return-amounts.ts'

const p = sql.placeholder

const HELD_COLUMNS = {
  consumer_id: allocations.consumerId,
  provider_id: allocations.providerId,
  resource_class: allocations.resourceClass,
  used: allocations.used,
  group_id: groupMembers.groupId,
  host_id: groupMembers.hostId,
}
const HAS_MOVED = sql<number>`exists (
  select 1 from ${serverMigrations} where ${serverMigrations.serverId} = ${allocations.consumerId})`
const ofConsumer = eq(groupMembers.consumerId, allocations.consumerId)

const heldWhere = (consumers: SQL | undefined) =>
  builder.select(HELD_COLUMNS).from(allocations).leftJoin(groupMembers, ofConsumer).where(consumers)

const HELD = new Lookup<Held & { readonly consumer_id: string }>(
  (consumers) => heldWhere(inArray(allocations.consumerId, [...consumers])),
  ({ consumer_id }) => consumer_id,
)
/** Most servers have never moved, and a delete asks for each. */
const HELD_BY_SERVER = new Lookup<
  Held & { readonly consumer_id: string; readonly has_moved: number }
>(
  (servers) =>
    builder
      .select({ ...HELD_COLUMNS, has_moved: HAS_MOVED.as('has_moved') })
      .from(allocations)
      .leftJoin(groupMembers, ofConsumer)
      .where(inArray(allocations.consumerId, [...servers])),
  ({ consumer_id }) => consumer_id,
)
const LOCKED = statement(heldWhere(eq(allocations.consumerId, p('consumer'))).for('update'))

const FORGET = statement(
  builder.delete(allocations).where(eq(allocations.consumerId, p('consumer'))),
  { keys: ['consumer'] },
)

/** A type, not an interface: it is logged as JSON. */
export type Held = {
  readonly provider_id: HostId
  readonly resource_class: string
  readonly used: number
  /** Null: the consumer is in no group. */
  readonly group_id: string | null
  readonly host_id: HostId | null
}

/** Afterwards the consumer holds nothing and counts in no group. Only what its rows say is given back, so repeating gives back nothing more. */
export async function release(tx: Tx, consumer: string): Promise<void> {
  const held = await tx.rows<Held>(LOCKED, { consumer })
  if (held.length === 0) return
  const from = groupOf(held)
  // Before the providers, as a claim locks them.
  if (from !== undefined) await leaveGroup(tx, consumer, from)
  tx.queue(FORGET, { consumer })
  giveBackAll(tx, held)
}

/** The present allocations of the consumer. */
export function heldBy(db: Executor, consumer: string): Promise<readonly Held[]> {
  return HELD.all(db, consumer)
}

/** The same of a server; `mayHaveMoved` is false only where it has no migration. */
export async function heldByServer(
  db: Executor,
  serverId: string,
): Promise<{ readonly held: readonly Held[]; readonly mayHaveMoved: boolean }> {
  const rows = await HELD_BY_SERVER.all(db, serverId)
  const held = rows.map((row): Held => {
    const { has_moved: _, ...each } = row
    return each
  })
  return { held, mayHaveMoved: rows[0]?.has_moved !== 0 }
}

/**
 * As `release`, only queued, for a consumer that no other transaction changes: the transaction fails with `otherwise`
 * when the consumer has not just so many rows, or has left its group.
 */
export function queueRelease(
  tx: Tx,
  consumer: string,
  held: readonly Held[],
  otherwise: () => Error,
): void {
  const from = groupOf(held)
  if (from !== undefined) queueLeaveGroup(tx, consumer, from, otherwise)
  tx.queue(FORGET, { consumer }, { rows: held.length, otherwise })
  giveBackAll(tx, held)
}

function groupOf([first]: readonly Held[]): GroupPlace | undefined {
  if (first === undefined || first.group_id === null || first.host_id === null) return undefined
  return { groupId: first.group_id, hostId: first.host_id }
}

function giveBackAll(tx: Tx, held: readonly Held[]): void {
  for (const provider of new Set(held.map((row) => row.provider_id))) {
    const rows = held.filter((row) => row.provider_id === provider)
    queueAmountsReturn(tx, provider, heldIn(rows))
  }
}

/** What these rows of one provider are altogether. */
export function heldIn(rows: readonly Held[]): Resources {
  const amounts = new Map(rows.map((row) => [row.resource_class, row.used]))
  const amount = (name: CountedResource) => amounts.get(RESOURCE_CLASSES[name]) ?? 0
  const counted = { vcpus: amount('vcpus'), memoryMb: amount('memoryMb'), diskGb: amount('diskGb') }
  for (const resourceClass of Object.values(RESOURCE_CLASSES)) amounts.delete(resourceClass)
  return { ...counted, custom: Object.fromEntries(amounts) }
}
