import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, isUuid } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { queueGroupMembersCheck } from '../../db/group-members-quota.ts'
import { serversInCells } from '../../db/instance-mappings.ts'
import {
  countGroupMembers,
  deleteGroupMembers,
  findGroupRecord,
  type GroupRecord,
  lockServerGroup,
  membersOfGroup,
  placedGroupsOf,
  queueGroupEntry,
  queueGroupMembers,
  setGroupCell,
  TOGETHER,
} from '../../db/server-groups.ts'
import { queueMembersEvent } from '../events/resource-events.ts'
import { lowerLimit } from '../quotas/quota-limits.ts'
import { DEFAULT_LIMITS, UNLIMITED } from '../quotas/resources.ts'
import type { Caller } from '../request-context.ts'

/** The group a boot's hint names; null: none. Throws `invalid` for one that is not there or another project's. */
export async function groupForBoot(
  db: Executor,
  { projectId }: Pick<Caller, 'projectId'>,
  hint: unknown,
): Promise<GroupRecord | null> {
  const [id] = [hint].flat()
  if (typeof id !== 'string' || id === '') return null
  const group = isUuid(id) ? await findGroupRecord(db, id) : undefined
  if (group === undefined || group.projectId !== projectId) throw noSuchGroup(id)
  return group
}

export function noSuchGroup(id: string): Failure {
  return new Failure('invalid', `Instance group ${id} could not be found.`)
}

/** The group's rule as a cell gets it. */
export function ruleOf({ id, policy, maxPerHost }: GroupRecord): ServerGroupRule {
  return { id, policy, maxPerHost: maxPerHost ?? 1 }
}

/** The group's servers went to a cell that the plan did not know of: a new plan will. */
export class GroupPlacedElsewhere extends Failure {
  constructor(group: GroupRecord) {
    super(
      'conflict',
      `Server group ${group.id} is being used by another request. Please try again.`,
    )
  }
}

export interface Joining {
  readonly groupId: string
  readonly userId: string
  readonly requestId: string
  /** With the cell each was planned for; null: none would have it. */
  readonly servers: readonly { readonly id: string; readonly cellId: CellId | null }[]
}

/**
 * Afterwards the servers are members of the group, and the group is in their cell where its policy wants its servers
 * together. Throws `invalid` for a group that is gone, `over-quota`, and `GroupPlacedElsewhere`.
 */
export async function joinServerGroup(
  tx: Tx,
  { groupId, userId, requestId, servers }: Joining,
): Promise<void> {
  const group = await lockServerGroup(tx, groupId)
  if (group === undefined) throw noSuchGroup(groupId)
  await limitMembers(tx, group, userId, servers.length)
  await settleCell(tx, group, servers)
  queueMembers(tx, group, { userId, requestId, servers })
}

type Joiners = Pick<Joining, 'userId' | 'requestId' | 'servers'>

function queueMembers(tx: Tx, group: GroupRecord, { userId, requestId, servers }: Joiners): void {
  const serverIds = servers.map(({ id }) => id)
  queueGroupMembers(tx, { groupId: group.id, userId, serverIds })
  queueMembersEvent(tx, { userId, requestId }, group)
}

/** Not all is as `queueJoin` takes it to be. */
export class NotJoined extends Error {}

/**
 * The same without an answer before the commit, for a group as it was read: the transaction fails with `NotJoined` where
 * something is in the way, which `joinServerGroup` then tells.
 */
export function queueJoin(
  tx: Tx,
  group: GroupRecord,
  { userId, requestId, servers }: Joiners,
): void {
  const otherwise = () => new NotJoined()
  const { id: groupId, projectId, policy } = group
  const cells = new Set(servers.flatMap(({ cellId }) => cellId ?? []))
  const isBinding = policy === 'affinity'
  if (isBinding && cells.size > 1) throw otherwise()
  const [cellId = null] = TOGETHER.has(policy) ? cells : []
  queueGroupEntry(tx, groupId, { cellId, isBinding: isBinding && cellId !== null }, otherwise)
  queueMembers(tx, group, { userId, requestId, servers })
  const resource = 'server_group_members'
  const quota = { groupId, projectId, userId, resource, fallbackLimit: DEFAULT_LIMITS[resource] }
  queueGroupMembersCheck(tx, quota, otherwise)
}

async function limitMembers(
  tx: Tx,
  group: GroupRecord,
  userId: string,
  more: number,
): Promise<void> {
  const limit = await lowerLimit(tx, { projectId: group.projectId, userId }, 'server_group_members')
  if (limit === UNLIMITED) return
  if ((await countGroupMembers(tx, group.id, userId)) + more > limit)
    throw new Failure('over-quota', 'Quota exceeded, too many servers in group')
}

async function settleCell(tx: Tx, group: GroupRecord, servers: Joining['servers']): Promise<void> {
  if (!TOGETHER.has(group.policy)) return
  const cells = servers.flatMap(({ cellId }) => (cellId === null ? [] : [cellId]))
  const [first] = cells
  if (first === undefined) return
  const cellId = group.cellId ?? first
  if (group.policy === 'affinity' && cells.some((each) => each !== cellId))
    throw new GroupPlacedElsewhere(group)
  if (group.cellId === null) await setGroupCell(tx, group.id, cellId)
}

/** Afterwards the servers are in no group, and a group whose last server went is in no cell. */
export async function leaveServerGroups(tx: Tx, serverIds: readonly string[]): Promise<void> {
  if (serverIds.length === 0) return
  const gone = new Set(serverIds)
  for (const id of await placedGroupsOf(tx, serverIds)) {
    const group = await lockServerGroup(tx, id)
    if (group === undefined || group.cellId === null) continue
    const members = await membersOfGroup(tx, id)
    if (members.every((member) => gone.has(member))) await setGroupCell(tx, id, null)
  }
  await deleteGroupMembers(tx, serverIds)
}

/**
 * True when a server whose cell refused it may go to another as far as its group is concerned: a group whose servers
 * must be together moves only while no other member is in a cell. Members cannot join or leave the group until the
 * transaction ends.
 */
export async function mayLeaveCell(
  tx: Tx,
  group: ServerGroupRule | undefined,
  serverId: string,
): Promise<boolean> {
  if (group?.policy !== 'affinity') return true
  await lockServerGroup(tx, group.id)
  const members = await membersOfGroup(tx, group.id)
  const others = members.filter((id) => id !== serverId)
  return (await serversInCells(tx, others)) === 0
}

/** Locks the group of a server that is in no cell; returns its policy and the cell of its members; null: the server is in no group. */
export async function placeOfGroup(
  tx: Tx,
  group: ServerGroupRule | undefined,
): Promise<Pick<GroupRecord, 'policy' | 'cellId'> | null> {
  return group === undefined ? null : ((await lockServerGroup(tx, group.id)) ?? null)
}

/** Afterwards servers that are to be with this one are looked for in its new cell; null: nowhere. */
export async function moveServerGroup(
  tx: Tx,
  group: ServerGroupRule | undefined,
  cellId: CellId | null,
): Promise<void> {
  if (group?.policy === 'affinity') await setGroupCell(tx, group.id, cellId)
}

/** Afterwards the server's group, if it has one, is not held to this cell: the next of its servers may go to any. */
export async function releaseServerGroup(tx: Tx, serverId: string, cellId: CellId): Promise<void> {
  for (const id of await placedGroupsOf(tx, [serverId])) {
    const group = await lockServerGroup(tx, id)
    if (group?.cellId === cellId) await setGroupCell(tx, id, null)
  }
}
