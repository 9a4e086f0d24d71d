import type { Executor } from '#common/db/database.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { cellsWithRecoveringHosts, type IndexedHosts, indexedHosts } from '../../db/host-index.ts'

/**
 * The cells with what the index of hosts knows besides their last summaries, which are up to a second old. An act on a
 * host that was answered is in the index of every gateway, so what it changed counts for the next request.
 */
export async function cellsAsIndexed(
  db: Executor,
  cells: readonly Cell[],
): Promise<readonly Cell[]> {
  const indexed = await indexedHosts(db)
  return cells.map((cell) => {
    const hosts = indexed.get(cell.id)
    return hosts === undefined ? cell : withHosts(cell, hosts)
  })
}

/** Whether a cell that cannot be chosen now has hosts that were up a short while ago, and that no operator removed. */
export async function areHostsRecovering(db: Executor, cells: readonly Cell[]): Promise<boolean> {
  const enabled = new Set(cells.filter(({ isEnabled }) => isEnabled).map(({ id }) => id))
  return (await cellsWithRecoveringHosts(db)).some((id) => enabled.has(id))
}

function withHosts(cell: Cell, { isAnyUp, zones }: IndexedHosts): Cell {
  const { summary } = cell
  if (summary === undefined) return cell
  return {
    ...cell,
    summary: {
      ...summary,
      hostsUp: Math.max(summary.hostsUp, isAnyUp ? 1 : 0),
      zones: [...new Set([...summary.zones, ...zones])],
    },
  }
}
