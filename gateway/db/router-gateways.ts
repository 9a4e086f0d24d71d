import { and, asc, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { networks, ports, subnets } from './schema/network.ts'
import { routerGateways, routerInterfaces, routers } from './schema/routing.ts'
import { instanceMappings } from './schema/servers.ts'
import { IS_SERVER_PORT } from './server-ports.ts'

/** The port by which a router leads outside in a cell. In one cell it is the router's own gateway. */
export interface CellGateway {
  readonly routerId: string
  readonly cellId: string
  readonly portId: string
}

/** A router with a gateway. */
export interface RoutedOutside {
  readonly id: string
  readonly gatewayPortId: string
  readonly gatewayNetworkId: string
  /** Of the external network; null: it is on none. */
  readonly physicalNetwork: string | null
}

const ROUTED = statement(
  builder
    .select({
      id: sql`${routers.id}`.as('id'),
      gatewayPortId: sql`${routers.gatewayPortId}`.as('gatewayPortId'),
      gatewayNetworkId: sql`${routers.gatewayNetworkId}`.as('gatewayNetworkId'),
      physicalNetwork: sql`${networks.physicalNetwork}`.as('physicalNetwork'),
    })
    .from(routers)
    .innerJoin(networks, eq(networks.id, routers.gatewayNetworkId))
    .where(isNotNull(routers.gatewayPortId))
    .orderBy(asc(routers.id)),
)

/** All routers with a gateway. */
export function routersOutside(db: Executor): Promise<readonly RoutedOutside[]> {
  return db.rows<RoutedOutside>(ROUTED, {})
}

const BEHIND = statement(
  builder
    .selectDistinct({
      routerId: sql`${routerInterfaces.routerId}`.as('routerId'),
      cellId: sql`${instanceMappings.cellId}`.as('cellId'),
    })
    .from(routerInterfaces)
    .innerJoin(routers, eq(routers.id, routerInterfaces.routerId))
    .innerJoin(subnets, eq(subnets.id, routerInterfaces.subnetId))
    .innerJoin(ports, eq(ports.networkId, subnets.networkId))
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, ports.deviceId))
    .where(
      and(
        ...[isNotNull(routers.gatewayPortId), isNotNull(instanceMappings.cellId), IS_SERVER_PORT],
      ),
    ),
)

/** The cells with servers on the networks of each router that has a gateway. */
export function cellsBehindRouters(db: Executor): Promise<readonly Omit<CellGateway, 'portId'>[]> {
  return db.rows<Omit<CellGateway, 'portId'>>(BEHIND, {})
}

/** Those of these routers, or of all. */
export async function cellGateways(
  db: Executor,
  routerIds?: readonly string[],
): Promise<readonly CellGateway[]> {
  if (routerIds?.length === 0) return []
  return db.orm
    .select()
    .from(routerGateways)
    .where(routerIds && inArray(routerGateways.routerId, [...routerIds]))
    .orderBy(asc(routerGateways.routerId), asc(routerGateways.cellId))
}

/** Afterwards the router leads outside by this port in the cell, and by no other. */
export async function putCellGateway(tx: Tx, gateway: CellGateway): Promise<void> {
  const { portId } = gateway
  await tx.orm.delete(routerGateways).where(eq(routerGateways.portId, portId))
  await tx.orm.insert(routerGateways).values(gateway).onDuplicateKeyUpdate({ set: { portId } })
}

/** Afterwards the router has no gateway in the cell; undefined: in none. */
export async function deleteCellGateways(tx: Tx, routerId: string, cellId?: string): Promise<void> {
  const inCell = cellId === undefined ? undefined : eq(routerGateways.cellId, cellId)
  await tx.orm.delete(routerGateways).where(and(eq(routerGateways.routerId, routerId), inCell))
}
