import { and, eq, ne, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { groupHosts, groupMembers } from '../db/schema/placement.ts'

const p = sql.placeholder
/** Of the row that counts the whole group. */
const WHOLE = ''
const isGroup = eq(groupHosts.groupId, p('groupId'))
const isSlot = and(isGroup, eq(groupHosts.slot, p('slot')))
const isEither = and(isGroup, sql`${groupHosts.slot} in ('', ${p('hostId')})`)

/** Not IGNORE: that would leave a shared lock, and two who then join would deadlock. */
const OPEN = statement(
  builder
    .insert(groupHosts)
    .values({ groupId: p('groupId'), slot: p('slot'), hostId: p('hostId'), members: 0 })
    .onDuplicateKeyUpdate({ set: { members: sql`${groupHosts.members}` } }),
)

const JOIN = statement(
  builder
    .update(groupHosts)
    .set({ members: sql`${groupHosts.members} + 1`, hostId: sql`${p('hostId')}` })
    .where(
      and(
        isSlot,
        sql`${groupHosts.members} < ${p('most')}`,
        sql`(${groupHosts.members} = 0 or ${p('anyHost')} or ${groupHosts.hostId} = ${p('hostId')})`,
      ),
    ),
)

const UNDO_WHOLE = statement(
  builder
    .update(groupHosts)
    .set({ members: sql`${groupHosts.members} - 1` })
    .where(and(isGroup, eq(groupHosts.slot, WHOLE))),
)

const NOTE = statement(
  builder
    .insert(groupMembers)
    .values({ consumerId: p('consumer'), groupId: p('groupId'), hostId: p('hostId') }),
)

const FORGET = statement(
  builder.delete(groupMembers).where(eq(groupMembers.consumerId, p('consumer'))),
)

const LEAVE = statement(
  builder
    .update(groupHosts)
    .set({ members: sql`${groupHosts.members} - 1` })
    .where(isEither),
)

const CLOSE = statement(
  builder.delete(groupHosts).where(and(isEither, sql`${groupHosts.members} <= 0`)),
)

const MEMBERS = statement(
  builder
    .select({ host_id: groupHosts.hostId, members: groupHosts.members })
    .from(groupHosts)
    .where(and(isGroup, ne(groupHosts.slot, WHOLE), sql`${groupHosts.members} > 0`)),
)

/** No group is as large: a host may hold any number of servers. */
const ANY_NUMBER = 2 ** 31 - 1

/** Where a server is counted. */
export interface GroupPlace {
  readonly groupId: string
  readonly hostId: HostId
}

/**
 * Counts the consumer as a server of its group on the host; false, and nothing changed, where the group's policy
 * keeps it off. Conditional updates decide, so however many join at once, the policy holds.
 */
export async function joinGroup(
  tx: Tx,
  { id: groupId, policy, maxPerHost }: ServerGroupRule,
  hostId: HostId,
  consumer: string,
): Promise<boolean> {
  const join = async (slot: string, most: number, anyHost: boolean) => {
    await tx.run(OPEN, { groupId, slot, hostId })
    return (await tx.run(JOIN, { groupId, slot, hostId, most, anyHost })).affectedRows === 1
  }
  if (!(await join(WHOLE, ANY_NUMBER, policy !== 'affinity'))) return false
  if (!(await join(hostId, mostOn(policy, maxPerHost), false))) {
    await tx.run(UNDO_WHOLE, { groupId })
    return false
  }
  await tx.run(NOTE, { consumer, groupId, hostId })
  return true
}

/** The same, only queued: the transaction fails with `otherwise` where the group's policy keeps the consumer off the host. */
export function queueJoinGroup(
  tx: Tx,
  { id: groupId, policy, maxPerHost }: ServerGroupRule,
  hostId: HostId,
  { consumer, otherwise }: { readonly consumer: string; readonly otherwise: () => Error },
): void {
  const join = (slot: string, most: number, anyHost: boolean) => {
    tx.queue(OPEN, { groupId, slot, hostId })
    tx.queue(JOIN, { groupId, slot, hostId, most, anyHost }, { rows: 1, otherwise })
  }
  join(WHOLE, ANY_NUMBER, policy !== 'affinity')
  join(hostId, mostOn(policy, maxPerHost), false)
  tx.queue(NOTE, { consumer, groupId, hostId })
}

function mostOn(policy: ServerGroupRule['policy'], maxPerHost: number): number {
  return policy === 'anti-affinity' ? maxPerHost : ANY_NUMBER
}

/** Afterwards the consumer is counted nowhere. `from` is where it was. */
export async function leaveGroup(tx: Tx, consumer: string, from: GroupPlace): Promise<void> {
  await tx.run(FORGET, { consumer })
  await tx.run(LEAVE, { ...from })
  await tx.run(CLOSE, { ...from })
}

/** The same, only queued: the transaction fails with `otherwise` where the consumer is in no group. */
export function queueLeaveGroup(
  tx: Tx,
  consumer: string,
  from: GroupPlace,
  otherwise: () => Error,
): void {
  tx.queue(FORGET, { consumer }, { rows: 1, otherwise })
  tx.queue(LEAVE, { ...from })
  tx.queue(CLOSE, { ...from })
}

/** How many servers of the group each host holds; those without any are absent. */
export async function groupMembersByHost(
  db: Executor,
  groupId: string,
): Promise<ReadonlyMap<HostId, number>> {
  const rows = await db.rows<{ host_id: HostId; members: number }>(MEMBERS, { groupId })
  return new Map(rows.map((row) => [row.host_id, row.members]))
}
