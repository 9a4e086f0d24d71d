import type { Cell } from '../../cells/cell.ts'
import type { HostRecord } from '../../db/host-list.ts'

/** What is known of cells at this moment. */
export interface Cells {
  cell(id: string): Cell | undefined
}

export interface AllCells extends Cells {
  cells(): readonly Cell[]
}

/** False also for a host whose cell is unreachable: nothing can be asked of it. */
export function isHostUp({ cellId, view }: HostRecord, cells: Cells): boolean {
  return view.isUp && !view.isForcedDown && cells.cell(cellId)?.isAlive === true
}

/** Nova's words for the state of a server's host (nova `get_instance_host_status`). */
export function hostStatus(
  host: HostRecord,
  cells: Cells,
): 'UP' | 'DOWN' | 'MAINTENANCE' | 'UNKNOWN' {
  if (host.view.isDisabled) return 'MAINTENANCE'
  if (host.view.isForcedDown) return 'DOWN'
  return isHostUp(host, cells) ? 'UP' : 'UNKNOWN'
}
