import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { cellsOfNetworks, joinedHosts, lockNetworks } from '../../db/cell-networks.ts'
import type { Network } from '../../db/network.ts'

/** What is known of the tunnels of a cell. */
export type Tunnelling = Pick<Cell, 'id' | 'name' | 'transportZone' | 'cannotTunnelTo'>

/** The networks of a server, and the cells that have servers on them. */
export interface NetworkSpans {
  /** Those whose packets cross cells in tunnels. */
  readonly networks: readonly {
    readonly id: string
    readonly name: string
    readonly cells: readonly Tunnelling[]
  }[]
  /** Ids of the cells whose hosts have tunnels at all. */
  readonly joined: ReadonlySet<string>
}

/** Of servers whose networks can be in every cell. */
export const NO_SPANS: NetworkSpans = { networks: [], joined: new Set() }

/** Servers of other cells came onto a network after it was decided where the next one goes. */
export class NetworkPlacedElsewhere extends Failure {
  constructor() {
    super('conflict', 'A network of the server is being used by another request. Please try again.')
  }
}

/** Why the hosts of the two cells do not tunnel to each other; undefined while nothing is known against it. */
export function whyNoTunnel(one: Tunnelling, other: Tunnelling): string | undefined {
  if (one.transportZone !== other.transportZone) return `${zoneText(one)}, and ${zoneText(other)}`
  if (one.cannotTunnelTo.has(other.id) || other.cannotTunnelTo.has(one.id))
    return 'the last test of the network between their hosts failed (./weir cell verify)'
  return undefined
}

function zoneText({ name, transportZone }: Tunnelling): string {
  return transportZone === null
    ? `${name} is in no named transport zone`
    : `${name} is in transport zone '${transportZone}'`
}

/**
 * Where servers are on these networks, without the server `except`. The database is read only if there are cells that
 * do not tunnel to each other.
 */
export async function networkSpans(
  db: Executor,
  cells: readonly Cell[],
  networks: readonly Pick<Network, 'id' | 'name' | 'physicalNetwork'>[],
  except: string | null = null,
): Promise<NetworkSpans> {
  const tunnelled = networks.filter(({ physicalNetwork }) => physicalNetwork === null)
  if (tunnelled.length === 0 || !areSeparate(cells)) return NO_SPANS
  const ids = tunnelled.map(({ id }) => id)
  const joined = new Set<string>((await joinedHosts(db)).map(({ cellId }) => cellId))
  const found = await cellsOfNetworks(db, ids, except)
  return {
    joined,
    networks: tunnelled.map(({ id, name }) => {
      const own = found.filter(({ networkId }) => networkId === id).map(({ cellId }) => cellId)
      const isIn = (cell: Cell) => own.includes(cell.id) && joined.has(cell.id)
      return { id, name, cells: cells.filter(isIn) }
    }),
  }
}

/** The same, once a server that is on all of these networks is in the cell. */
export function spansWith(spans: NetworkSpans, cell: Tunnelling): NetworkSpans {
  if (!spans.joined.has(cell.id)) return spans
  const networks = spans.networks.map((each) => ({ ...each, cells: [...each.cells, cell] }))
  return { ...spans, networks }
}

/**
 * Why a server in this cell would not reach the others of its networks; undefined if it would, and for a cell that has
 * servers on them already.
 */
export function separationReason(spans: NetworkSpans, cell: Tunnelling): string | undefined {
  if (!spans.joined.has(cell.id)) return undefined
  for (const { name, cells } of spans.networks) {
    if (cells.some(({ id }) => id === cell.id)) continue
    const [why] = cells.flatMap((other) => whyNoTunnel(cell, other) ?? [])
    if (why === undefined) continue
    const names = cells.map((each) => each.name).join(', ')
    const where = cells.length === 1 ? `cell ${names}` : `cells ${names}`
    return `cannot tunnel to all cells that network '${name}' is in (${where}): ${why}`
  }
  return undefined
}

/** Afterwards no other transaction puts servers onto these networks before this one ends, if they cannot be everywhere. */
export async function lockSpanningNetworks(
  tx: Tx,
  cells: readonly Cell[],
  networks: readonly Network[],
): Promise<boolean> {
  if (networks.length === 0 || !areSeparate(cells)) return false
  await lockNetworks(
    tx,
    networks.map(({ id }) => id),
  )
  return true
}

/**
 * Afterwards no other transaction puts servers onto these networks before this one ends, and these cells may have them.
 * Throws `conflict` (`NetworkPlacedElsewhere`) where one may not.
 */
export async function assertNetworksSpan(
  tx: Tx,
  cells: readonly Cell[],
  networks: readonly Network[],
  cellIds: readonly (string | null)[],
): Promise<void> {
  if (!(await lockSpanningNetworks(tx, cells, networks))) return
  let spans = await networkSpans(tx, cells, networks)
  for (const cellId of cellIds) {
    const cell = cells.find(({ id }) => id === cellId)
    if (cell === undefined) continue
    if (separationReason(spans, cell) !== undefined) throw new NetworkPlacedElsewhere()
    spans = spansWith(spans, cell)
  }
}

function areSeparate(cells: readonly Cell[]): boolean {
  const [first] = cells
  return cells.some(
    ({ transportZone, cannotTunnelTo }) =>
      transportZone !== first!.transportZone || cannotTunnelTo.size > 0,
  )
}
