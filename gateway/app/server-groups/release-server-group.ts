import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { groupsOfServers, lockServerGroup, setGroupCell } from '../../db/server-groups.ts'

/** Afterwards the server's group, if it has one, is not held to this cell: the next of its servers may go to any. */
export async function releaseServerGroup(tx: Tx, serverId: string, cellId: CellId): Promise<void> {
  for (const id of await groupsOfServers(tx, [serverId])) {
    const group = await lockServerGroup(tx, id)
    if (group?.cellId === cellId) await setGroupCell(tx, id, null)
  }
}
