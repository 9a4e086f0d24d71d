import { and, eq, inArray, isNotNull, isNull, max, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { isThere } from './host-list.ts'
import type { Port } from './network.ts'
import { portsOfRows } from './ports.ts'
import { hostIndex } from './schema/cells.ts'
import { networks, ports, subnets } from './schema/network.ts'
import { floatingIps, routerInterfaces, routers } from './schema/routing.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'
import { IS_SERVER_PORT } from './server-ports.ts'

/** A router with its gateway, as a network engine needs it. */
export type CellRouter = Pick<
  typeof routers.$inferSelect,
  'id' | 'revision' | 'name' | 'isUp' | 'hasSnat' | 'gatewayPortId' | 'gatewayNetworkId' | 'routes'
>

/** The networks on which servers of the cell have ports. */
export async function networksOfServersIn(
  db: Executor,
  cellId: CellId,
): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ id: ports.networkId })
    .from(ports)
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, ports.deviceId))
    .where(and(IS_SERVER_PORT, eq(instanceMappings.cellId, cellId)))
  return rows.map(({ id }) => id)
}

/** The cells in which servers have ports on these networks; those of the server `except` do not count. */
export function cellsOfNetworks(
  db: Executor,
  networkIds: readonly string[],
  except: string | null,
): Promise<readonly { readonly networkId: string; readonly cellId: string }[]> {
  const other = except === null ? undefined : ne(ports.deviceId, except)
  return db.orm
    .selectDistinct({ networkId: ports.networkId, cellId: sql<string>`${instanceMappings.cellId}` })
    .from(ports)
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, ports.deviceId))
    .where(
      and(
        inArray(ports.networkId, [...networkIds]),
        ...[IS_SERVER_PORT, isNotNull(instanceMappings.cellId), other],
      ),
    )
}

/** The largest MTU of all networks whose packets cross cells in tunnels; null: there is no such network. */
export async function largestTunnelledMtu(db: Executor): Promise<number | null> {
  const [row] = await db.orm
    .select({ mtu: max(networks.mtu) })
    .from(networks)
    .where(isNull(networks.physicalNetwork))
  return row?.mtu ?? null
}

/** Afterwards only this transaction puts ports onto these networks, until it ends. */
export async function lockNetworks(tx: Tx, networkIds: readonly string[]): Promise<void> {
  if (networkIds.length > 0)
    await lockRows(tx, networks, inArray(networks.id, [...networkIds]), networks.id)
}

/** The routers that have a subnet of one of these networks. */
export async function routersOnNetworks(
  db: Executor,
  networkIds: readonly string[],
): Promise<readonly CellRouter[]> {
  if (networkIds.length === 0) return []
  const rows = await db.orm
    .selectDistinct({ id: routerInterfaces.routerId })
    .from(routerInterfaces)
    .innerJoin(subnets, eq(subnets.id, routerInterfaces.subnetId))
    .where(inArray(subnets.networkId, [...networkIds]))
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  return db.orm.select().from(routers).where(inArray(routers.id, ids))
}

/** The networks of the subnets on these routers, their external networks left out. */
export async function networksOfRouters(
  db: Executor,
  routerIds: readonly string[],
): Promise<readonly string[]> {
  if (routerIds.length === 0) return []
  const rows = await db.orm
    .selectDistinct({ id: subnets.networkId })
    .from(routerInterfaces)
    .innerJoin(subnets, eq(subnets.id, routerInterfaces.subnetId))
    .where(inArray(routerInterfaces.routerId, [...routerIds]))
  return rows.map(({ id }) => id)
}

/** A port, and the cell and host of its server; null for a port of no server, or of one that is nowhere. */
export interface PlacedPort {
  readonly port: Port
  readonly cellId: string | null
  readonly hostId: string | null
}

/** The ports on these networks, and these further ones. */
export function placedPorts(
  db: Executor,
  networkIds: readonly string[],
  portIds: readonly string[],
): Promise<readonly PlacedPort[]> {
  const conditions = [
    networkIds.length > 0 ? inArray(ports.networkId, [...networkIds]) : undefined,
    portIds.length > 0 ? inArray(ports.id, [...portIds]) : undefined,
  ].filter((each) => each !== undefined)
  return conditions.length === 0 ? Promise.resolve([]) : select(db, or(...conditions)!)
}

async function select(db: Executor, condition: SQL): Promise<readonly PlacedPort[]> {
  const rows = await db.orm
    .select({ port: ports, cellId: instanceMappings.cellId, hostId: serverIndex.hostId })
    .from(ports)
    .leftJoin(instanceMappings, eq(instanceMappings.serverId, ports.deviceId))
    .leftJoin(serverIndex, eq(serverIndex.serverId, ports.deviceId))
    .where(condition)
  const found = await portsOfRows(
    db,
    rows.map(({ port }) => port),
  )
  const byId = new Map(found.map((port) => [port.id, port]))
  return rows.map(({ port, cellId, hostId }) => ({ port: byId.get(port.id)!, cellId, hostId }))
}

const physicalNetworks = sql<
  readonly string[] | null
>`json_extract(${hostIndex.view}, '$.network.physicalNetworks')`

/** A host that a network engine joins, and where its tunnels end. */
export interface JoinedHost {
  readonly id: string
  readonly cellId: string
  readonly name: string
  readonly encapAddress: string
  readonly physicalNetworks: readonly string[]
  /** 1 or 0. */
  readonly isUp: number
}

/** The hosts of all cells that a network engine joins, as last known. */
export function joinedHosts(db: Executor): Promise<readonly JoinedHost[]> {
  return db.rows<JoinedHost>(JOINED, {})
}

const outsideNetworks = sql<
  readonly string[] | null
>`json_extract(${hostIndex.view}, '$.inventory.externalNetworks[*].name')`

/** The physical networks that some host of a cell maps to a bridge, or to an external network of its cloud, as last known. */
export async function mappedPhysicalNetworks(db: Executor): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ names: physicalNetworks, outside: outsideNetworks })
    .from(hostIndex)
    .where(isThere)
  const all = rows.flatMap(({ names, outside }) => [
    ...(names ?? []),
    // Of a VLAN, such as `site:7`, its physical network.
    ...(outside ?? []).map((name) => name.split(':')[0]!),
  ])
  return [...new Set(all)].toSorted()
}

const encapAddress = sql<string>`json_value(${hostIndex.view}, '$.network.encapAddress')`
const JOINED = statement(
  builder
    .select({
      id: sql`${hostIndex.hostId}`.as('id'),
      cellId: sql`${hostIndex.cellId}`.as('cellId'),
      name: hostIndex.name,
      encapAddress: encapAddress.as('encapAddress'),
      physicalNetworks: physicalNetworks.as('physicalNetworks'),
      isUp: sql`json_value(${hostIndex.view}, '$.isUp') = 1`.as('isUp'),
    })
    .from(hostIndex)
    .where(and(isThere, sql`${encapAddress} is not null`))
    .orderBy(hostIndex.hostId),
)

/** The associated floating IPs through these routers, each with the MAC address of its own port. */
export async function floatingIpsThrough(db: Executor, routerIds: readonly string[]) {
  if (routerIds.length === 0) return []
  return db.orm
    .select({ floatingIp: floatingIps, mac: ports.macAddress })
    .from(floatingIps)
    .innerJoin(ports, eq(ports.id, floatingIps.portId))
    .where(and(inArray(floatingIps.routerId, [...routerIds]), isNotNull(floatingIps.fixedPortId)))
}
