import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { listNetworkObjects, writeNetworkChanges } from '../db/network-objects.ts'

const PAGE_MAX = 1_000

/** A page of the ids and digests of the cell's network objects, after a position. */
export async function networkList(
  { conductor }: Cell,
  { after }: CellAsk<'network.list'>,
): Promise<CellAnswer<'network.list'>> {
  const objects = await listNetworkObjects(conductor.db, after, PAGE_MAX + 1)
  return { objects: objects.slice(0, PAGE_MAX), isLast: objects.length <= PAGE_MAX }
}

/**
 * Afterwards the cell has these network objects, and its reconciler is awake. Throws `conflict` for another writer's
 * generation.
 */
export async function networkApply(
  { conductor }: Cell,
  { generation, changes }: CellAsk<'network.apply'>,
): Promise<CellAnswer<'network.apply'>> {
  await conductor.db.transaction((tx) => writeNetworkChanges(tx, generation, changes))
  conductor.networkChanged()
  return {}
}
