import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { serversInCells } from '../../db/instance-mappings.ts'
import { lockServerGroup, type ServerGroup, setGroupCell } from '../../db/server-groups.ts'

/**
 * True when a server whose cell refused it may go to another as far as its group is concerned: a group whose servers
 * must be together moves only while no other of them is anywhere. Nobody joins or leaves it until the transaction ends.
 */
export async function mayLeaveCell(
  tx: Tx,
  group: ServerGroupRule | undefined,
  serverId: string,
): Promise<boolean> {
  if (group?.policy !== 'affinity') return true
  const members = (await lockServerGroup(tx, group.id))?.members ?? []
  const others = members.filter((id) => id !== serverId)
  return (await serversInCells(tx, others)) === 0
}

/** Where the group of a server that is nowhere has others of it; null: it is in none. */
export async function placeOfGroup(
  tx: Tx,
  group: ServerGroupRule | undefined,
): Promise<Pick<ServerGroup, 'policy' | 'cellId'> | null> {
  return group === undefined ? null : ((await lockServerGroup(tx, group.id)) ?? null)
}

/** Afterwards servers that shall be with this one are looked for in its new cell; null: nowhere. */
export async function moveServerGroup(
  tx: Tx,
  group: ServerGroupRule | undefined,
  cellId: CellId | null,
): Promise<void> {
  if (group?.policy === 'affinity') await setGroupCell(tx, group.id, cellId)
}
