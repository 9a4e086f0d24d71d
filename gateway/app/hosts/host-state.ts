import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import {
  type HostedServer,
  type HostRecord,
  listHosts,
  serversOnHosts,
} from '../../db/host-list.ts'

/** The cells as this gateway knows them at this moment. */
export interface Cells {
  cell(id: string): Cell | undefined
}

export interface AllCells extends Cells {
  cells(): readonly Cell[]
}

/** The properties of a host that say whether it serves. */
export interface HostCondition extends Pick<HostRecord, 'cellId'> {
  readonly view: Pick<HostRecord['view'], 'isUp' | 'isForcedDown' | 'isDisabled'>
}

/** False also for a host whose cell is unreachable: it cannot be asked anything. */
export function isHostUp({ cellId, view }: HostCondition, cells: Cells): boolean {
  return view.isUp && !view.isForcedDown && cells.cell(cellId)?.isReachable === true
}

/** Nova's words for the state of a server's host (nova `get_instance_host_status`). */
export function hostStatus(
  host: HostCondition,
  cells: Cells,
): 'UP' | 'DOWN' | 'MAINTENANCE' | 'UNKNOWN' {
  if (host.view.isDisabled) return 'MAINTENANCE'
  if (host.view.isForcedDown) return 'DOWN'
  return isHostUp(host, cells) ? 'UP' : 'UNKNOWN'
}

/** The cell of a host, which can be asked now. Throws `unavailable`. */
export function reachable(cell: Cell | undefined): Cell {
  if (cell?.isReachable === true) return cell
  throw new Failure(
    'unavailable',
    `Cell ${cell?.name ?? 'of this host'} does not answer. Please try again when it is back.`,
  )
}

/** The ids of all cells that can be asked now. */
export function reachableCells({ cells }: { readonly cells: AllCells }): readonly CellId[] {
  return cells.cells().flatMap(({ id, isReachable }) => (isReachable ? [id] : []))
}

/** Hosts that are not disabled, of one zone where it is named. */
export async function listServingHosts(
  db: Executor,
  zone: string | undefined,
): Promise<readonly HostRecord[]> {
  const hosts = await listHosts(db)
  return hosts.filter(({ view }) => !view.isDisabled && (!zone || view.zone === zone))
}

/** The servers of hosts for a view; none if the request does not ask for them. */
export async function hostedServers(
  db: Executor,
  hosts: readonly HostRecord[],
  isRequested: boolean | undefined,
): Promise<{ readonly servers?: ReadonlyMap<string, readonly HostedServer[]> }> {
  if (isRequested !== true) return {}
  const ids = hosts.map(({ view }) => view.hostId)
  return { servers: await serversOnHosts(db, ids) }
}
