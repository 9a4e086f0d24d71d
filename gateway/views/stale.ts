import type { Cells } from '../app/hosts/host-state.ts'
import type { ServerRecord } from '../app/servers/list/server-record.ts'

/** Longer lists of cells are cut: a header has its limits. */
const CELLS_MAX = 20

/**
 * The header that marks rows of unreachable cells: the age in seconds of the oldest last heartbeat among them, and for
 * administrators the cells. No headers when every cell shown is reachable.
 */
export function staleHeaders(
  servers: readonly Pick<ServerRecord, 'cellId'>[],
  cells: Cells,
  { isAdmin }: { readonly isAdmin: boolean },
): { readonly headers?: Readonly<Record<string, string>> } {
  const shown = new Set<string>()
  for (const { cellId } of servers) if (cellId !== null) shown.add(cellId)
  const silent = [...shown].flatMap((id) => {
    const cell = cells.cell(id)
    return cell === undefined || cell.isReachable ? [] : [cell]
  })
  if (silent.length === 0) return {}
  const oldest = Math.min(...silent.map(({ lastHeartbeatAt }) => lastHeartbeatAt ?? 0))
  const age = oldest === 0 ? 'unknown' : String(Math.round((Date.now() - oldest) / 1000))
  const names = silent.slice(0, CELLS_MAX).map(({ name }) => name)
  const which = isAdmin ? `; cells=${names.join(',')}` : ''
  return { headers: { 'Weir-Stale': age + which } }
}
