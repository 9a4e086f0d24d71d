import type { Tx } from '#common/db/database.ts'
import {
  deleteGroupMembers,
  groupsOfServers,
  lockServerGroup,
  setGroupCell,
} from '../../db/server-groups.ts'

/** Afterwards the servers are in no group, and a group whose last server went is in no cell. */
export async function leaveServerGroups(tx: Tx, serverIds: readonly string[]): Promise<void> {
  const groups = await groupsOfServers(tx, serverIds)
  if (groups.length === 0) return
  const gone = new Set(serverIds)
  for (const id of groups) {
    const group = await lockServerGroup(tx, id)
    if (group === undefined || group.cellId === null) continue
    if (group.members.every((member) => gone.has(member))) await setGroupCell(tx, id, null)
  }
  await deleteGroupMembers(tx, serverIds)
}
