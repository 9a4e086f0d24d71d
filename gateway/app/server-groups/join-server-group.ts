import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import {
  countGroupMembers,
  insertGroupMembers,
  lockServerGroup,
  type ServerGroup,
  setGroupCell,
} from '../../db/server-groups.ts'
import { lowerLimit } from '../quotas/quota-limits.ts'
import { UNLIMITED } from '../quotas/resources.ts'
import { noSuchGroup } from './group-for-boot.ts'

/** The group's servers went to a cell that the plan did not know of: a new plan will. */
export class GroupPlacedElsewhere extends Failure {
  constructor(group: ServerGroup) {
    super(
      'conflict',
      `Server group ${group.id} is being used by another request. Please try again.`,
    )
  }
}

export interface Joining {
  readonly groupId: string
  readonly userId: string
  /** With the cell each was planned for; null: none would have it. */
  readonly servers: readonly { readonly id: string; readonly cellId: CellId | null }[]
}

/**
 * Afterwards the servers are members of the group, and the group is in their cell where its policy wants its servers
 * together. Throws `invalid` for a group that is gone, `over-quota`, and `GroupPlacedElsewhere`.
 */
export async function joinServerGroup(
  tx: Tx,
  { groupId, userId, servers }: Joining,
): Promise<void> {
  const group = await lockServerGroup(tx, groupId)
  if (group === undefined) throw noSuchGroup(groupId)
  await limitMembers(tx, group, userId, servers.length)
  await settleCell(tx, group, servers)
  await insertGroupMembers(
    tx,
    groupId,
    userId,
    servers.map(({ id }) => id),
  )
}

async function limitMembers(
  tx: Tx,
  group: ServerGroup,
  userId: string,
  more: number,
): Promise<void> {
  const limit = await lowerLimit(tx, { projectId: group.projectId, userId }, 'server_group_members')
  if (limit === UNLIMITED) return
  if ((await countGroupMembers(tx, group.id, userId)) + more > limit)
    throw new Failure('over-quota', 'Quota exceeded, too many servers in group')
}

async function settleCell(tx: Tx, group: ServerGroup, servers: Joining['servers']): Promise<void> {
  if (group.policy !== 'affinity' && group.policy !== 'soft-affinity') return
  const cells = servers.flatMap(({ cellId }) => (cellId === null ? [] : [cellId]))
  const [first] = cells
  if (first === undefined) return
  const cellId = group.cellId ?? first
  if (group.policy === 'affinity' && cells.some((each) => each !== cellId))
    throw new GroupPlacedElsewhere(group)
  if (group.cellId === null) await setGroupCell(tx, group.id, cellId)
}
