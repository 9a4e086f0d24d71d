import type { Clock } from '#common/clock.ts'
import type { Transactional, Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { type JoinedHost, joinedHosts } from '../../../db/cell-networks.ts'
import { findPorts } from '../../../db/ports.ts'
import {
  type CellGateway,
  cellGateways,
  cellsBehindRouters,
  deleteCellGateways,
  putCellGateway,
  type RoutedOutside,
  routersOutside,
} from '../../../db/router-gateways.ts'
import { lockRouter } from '../../../db/routers.ts'
import { subnetsOfNetworks } from '../../../db/subnets.ts'
import { placePort } from '../place-port.ts'
import { removePort } from '../release-port.ts'
import { NO_PROJECT, ROUTER_GATEWAY, servicePort } from '../service-ports.ts'

interface Deps {
  readonly db: Transactional
  readonly clock: Clock
  readonly log: Logger
}

/** A router, the cells in which it is to lead outside, and the ports by which it does. */
interface Wanted {
  readonly router: RoutedOutside
  /** By id; those with servers behind it and hosts that reach its external network. */
  readonly cellIds: readonly string[]
  readonly present: readonly CellGateway[]
}

/** A host leaves its cell's OVN for a moment when its ovn-controller starts again. */
const GRACE_MS = 600_000

/** Where routers lead outside. */
export class CellGateways {
  readonly #deps: Deps
  readonly #graceMs: number
  /** By router and cell, since when no host of the cell reaches the router's external network. */
  readonly #absentSince = new Map<string, number>()

  constructor(deps: Deps, graceMs = GRACE_MS) {
    this.#deps = deps
    this.#graceMs = graceMs
  }

  /**
   * Afterwards each router has its own address in one cell, and in every further cell with servers behind it one more of
   * its external network, as far as the cell's hosts reach that network and it has free addresses. An address stays in
   * its cell while there are servers behind it, until no host has reached the network for the time of grace. Returns how many routers were
   * changed.
   */
  async place(): Promise<number> {
    const { db } = this.#deps
    const routers = await routersOutside(db)
    if (routers.length === 0) return 0
    const [hosts, behind, all] = await Promise.all([
      joinedHosts(db),
      cellsBehindRouters(db),
      cellGateways(db),
    ])
    let changed = 0
    for (const router of routers) {
      const served = behind.flatMap((each) => (each.routerId === router.id ? [each.cellId] : []))
      const present = all.filter(({ routerId }) => routerId === router.id)
      const reaching = cellsReaching(hosts, router.physicalNetwork)
      const cellIds = served
        .filter((cellId) => this.#mayHave(router, cellId, reaching, present))
        .toSorted()
      if (isPlaced({ router, cellIds, present })) continue
      const missing = await db.transaction((tx) => settle(tx, router, cellIds))
      for (const cellId of missing) await addGateway(this.#deps, router, cellId)
      changed += 1
    }
    return changed
  }

  #mayHave(
    { id }: RoutedOutside,
    cellId: string,
    reaching: ReadonlySet<string>,
    present: readonly CellGateway[],
  ): boolean {
    const key = `${id} ${cellId}`
    if (reaching.has(cellId)) {
      this.#absentSince.delete(key)
      return true
    }
    if (!present.some((each) => each.cellId === cellId)) return false
    const now = this.#deps.clock.elapsed()
    const since = this.#absentSince.get(key) ?? now
    this.#absentSince.set(key, since)
    return now - since < this.#graceMs
  }
}

/** The cells with a host that has a bridge for this physical network; null: all cells with OVN. */
export function cellsReaching(
  hosts: readonly JoinedHost[],
  physicalNetwork: string | null,
): ReadonlySet<string> {
  const able = hosts.filter(
    (host) => physicalNetwork === null || host.physicalNetworks.includes(physicalNetwork),
  )
  return new Set(able.map(({ cellId }) => cellId))
}

/** The cell with the router's own address; undefined: none has it. */
function homeOf({ router, present }: Omit<Wanted, 'cellIds'>): string | undefined {
  return present.find(({ portId }) => portId === router.gatewayPortId)?.cellId
}

/** Where no cell can have the gateway it stays where it is: its servers may come back. */
function isPlaced(wanted: Wanted): boolean {
  const { cellIds, present } = wanted
  const home = homeOf(wanted)
  if (cellIds.length === 0) return present.length <= (home === undefined ? 0 : 1)
  if (home === undefined || !cellIds.includes(home)) return false
  return cellIds.join() === present.map(({ cellId }) => cellId).join()
}

/** Afterwards the router's own gateway is in its cell, and no gateway in a wrong one; returns the cells without one. */
async function settle(
  tx: Tx,
  router: RoutedOutside,
  cellIds: readonly string[],
): Promise<readonly string[]> {
  const { id, gatewayPortId } = router
  const locked = await lockRouter(tx, id)
  if (locked?.gateway?.portId !== gatewayPortId) return []
  const present = await cellGateways(tx, [id])
  const before = homeOf({ router, present })
  const isKept = before !== undefined && (cellIds.length === 0 || cellIds.includes(before))
  const home = isKept ? before : cellIds[0]
  const kept = present.filter(({ cellId, portId }) =>
    portId === gatewayPortId ? cellId === home : cellIds.includes(cellId) && cellId !== home,
  )
  for (const gateway of present) {
    if (kept.includes(gateway)) continue
    await deleteCellGateways(tx, id, gateway.cellId)
    if (gateway.portId !== gatewayPortId) await removeGatewayPort(tx, gateway.portId)
  }
  if (home !== undefined && home !== before)
    await putCellGateway(tx, { routerId: id, cellId: home, portId: gatewayPortId })
  return cellIds.filter((each) => each !== home && !kept.some(({ cellId }) => cellId === each))
}

/** Afterwards the router has one more address outside, in this cell, unless its external network has none that is free. */
async function addGateway(
  { db, clock, log }: Deps,
  { id, gatewayPortId, gatewayNetworkId: networkId }: RoutedOutside,
  cellId: string,
): Promise<void> {
  const device = { deviceId: id, deviceOwner: ROUTER_GATEWAY }
  const blank = servicePort({ now: new Date(clock.now()), projectId: NO_PROJECT, ...device })
  try {
    await db.transaction(async (tx) => {
      const locked = await lockRouter(tx, id)
      if (locked?.gateway?.portId !== gatewayPortId) return
      // Another gateway process may have held the lease a moment ago.
      if (locked.cellGateways.some((each) => each.cellId === cellId)) return
      const subnets = await subnetsOfNetworks(tx, [networkId])
      const port = await placePort(tx, { ...blank, networkId, subnets, requests: undefined })
      await putCellGateway(tx, { routerId: id, cellId, portId: port.id })
    })
  } catch (error) {
    if (!isFailure(error, 'conflict', 'not-found')) throw error
    const what = 'a router leads outside in a cell by floating IPs only'
    log.warn({ router: id, cell: cellId, ...errorFields(error) }, what)
  }
}

/** Afterwards the router leads outside in no cell, and has no port for it but its own. Part of a transaction that holds it. */
export async function removeCellGateways(
  tx: Tx,
  routerId: string,
  ownPortId: string,
): Promise<void> {
  const present = await cellGateways(tx, [routerId])
  await deleteCellGateways(tx, routerId)
  for (const { portId } of present) if (portId !== ownPortId) await removeGatewayPort(tx, portId)
}

async function removeGatewayPort(tx: Tx, portId: string): Promise<void> {
  const [port] = await findPorts(tx, [portId])
  if (port !== undefined) await removePort(tx, port)
}
