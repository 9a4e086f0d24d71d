import type { Tx } from '#common/db/database.ts'
import {
  deleteGroupMembers,
  groupsOfServers,
  lockServerGroup,
  setGroupCell,
} from '../../db/server-groups.ts'

/** Afterwards the servers are in no group, and a group whose last server went is in no cell. */
export async function leaveServerGroups(tx: Tx, serverIds: readonly string[]): Promise<void> {
  if (serverIds.length === 0) return
  const gone = new Set(serverIds)
  for (const id of await groupsOfServers(tx, serverIds)) {
    const group = await lockServerGroup(tx, id)
    if (group === undefined || group.cellId === null) continue
    if (group.members.every((member) => gone.has(member))) await setGroupCell(tx, id, null)
  }
  await deleteGroupMembers(tx, serverIds)
}
