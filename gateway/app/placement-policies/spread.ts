import type { Cell } from '../../cell-client/cell.ts'
import type { Spread } from '../../db/placement-policies.ts'
import type { CellUse } from '../../db/project-use.ts'

/** How evenly the servers of a project are spread, at the moment of a choice. */
export interface SpreadState extends Spread {
  /** Of each cell among which they are to be spread: its domain, which is the cell itself or its zones. */
  readonly domains: ReadonlyMap<string, string>
  /** How many of the project's servers each domain has; the least of them counts, also if it is 0. */
  readonly servers: ReadonlyMap<string, number>
}

/** The state of a spread over these cells, of which each is one in which the server may be for good. */
export function spreadState(
  spread: Spread,
  cells: readonly Cell[],
  use: ReadonlyMap<string, CellUse>,
): SpreadState {
  const domains = new Map(cells.map((cell) => [cell.id as string, domainOf(spread, cell)]))
  return { ...spread, domains, servers: counted(domains, use) }
}

/** The gateway chooses cells, so a cell with hosts in several zones is one domain. */
function domainOf({ over }: Spread, { name, summary }: Cell): string {
  return over === 'cell' ? name : (summary?.zones ?? []).toSorted().join(', ')
}

/** Why one server more in the cell would make the spread more uneven than it may be; undefined: it would not. */
export function unevenReason(state: SpreadState, cellId: string): string | undefined {
  const domain = state.domains.get(cellId)
  if (domain === undefined) return undefined
  const here = state.servers.get(domain) ?? 0
  const least = Math.min(...state.servers.values())
  if (here + 1 - least <= state.maxSkew) return undefined
  return `${state.over} ${domain} has ${here} servers of the project and another ${state.over} ${least}; they may differ by ${state.maxSkew}`
}

/** The same after one server more is in the cell. */
export function withServer(state: SpreadState, cellId: string): SpreadState {
  const domain = state.domains.get(cellId)
  if (domain === undefined) return state
  const servers = new Map(state.servers).set(domain, (state.servers.get(domain) ?? 0) + 1)
  return { ...state, servers }
}

/** True where the cell's domain has more servers than the spread allows, when they are counted again. */
export function isTooUneven(
  state: SpreadState,
  use: ReadonlyMap<string, CellUse>,
  cellId: string,
): boolean {
  const servers = counted(state.domains, use)
  const domain = state.domains.get(cellId)
  if (domain === undefined) return false
  return servers.get(domain)! - Math.min(...servers.values()) > state.maxSkew
}

function counted(
  domains: ReadonlyMap<string, string>,
  use: ReadonlyMap<string, CellUse>,
): ReadonlyMap<string, number> {
  const servers = new Map<string, number>()
  for (const [cellId, domain] of domains)
    servers.set(domain, (servers.get(domain) ?? 0) + (use.get(cellId)?.servers ?? 0))
  return servers
}
