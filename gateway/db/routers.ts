import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { describedCollection } from './described-collection.ts'
import type { Described, FixedIp, HostRoute, Subnet } from './network.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { cellGateways } from './router-gateways.ts'
import { portAddresses, subnets } from './schema/network.ts'
import { routerGateways, routerInterfaces, routers } from './schema/routing.ts'
import { StaleRevision } from './stale-revision.ts'
import { toSubnet } from './subnets.ts'

export interface Router extends Described {
  readonly isUp: boolean
  readonly hasSnat: boolean
  readonly gateway: RouterGateway | null
  /** By which it leads outside in each cell: in one of them its own gateway. */
  readonly cellGateways: readonly RouterCellGateway[]
  readonly routes: readonly HostRoute[]
}

/** A router's port on an external network. */
export interface RouterGateway {
  readonly portId: string
  readonly networkId: string
  readonly fixedIps: readonly FixedIp[]
}

/** How a router leads outside in a cell. */
export interface RouterCellGateway {
  readonly cellId: string
  readonly portId: string
  readonly fixedIps: readonly FixedIp[]
}

/** A subnet on a router: the port by which, and the router's address there. */
export interface AttachedSubnet {
  readonly subnet: Subnet
  readonly portId: string
  readonly address: string
}

const ROUTERS = describedCollection(routers, {
  attributes: { admin_state_up: routers.isUp },
  conditions: { status: (anyOf) => (anyOf.includes('ACTIVE') ? sql`TRUE` : sql`FALSE`) },
})

/** A page of the project's routers; null sees all. */
export function listRouters(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly Router[]> {
  const visible = projectId === null ? undefined : eq(routers.projectId, projectId)
  return readPage(db, ROUTERS, visible, page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(routers)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return routersOfRows(db, rows)
  })
}

export async function findRouter(db: Executor, id: string): Promise<Router | undefined> {
  const rows = await db.orm.select().from(routers).where(eq(routers.id, id))
  return (await routersOfRows(db, rows))[0]
}

/** The router, which nothing else changes until the transaction ends; undefined when there is none. */
export async function lockRouter(tx: Tx, id: string): Promise<Router | undefined> {
  await lockRows(tx, routers, eq(routers.id, id))
  return findRouter(tx, id)
}

export async function insertRouter(tx: Tx, router: Router): Promise<void> {
  await tx.orm.insert(routers).values(columnsOf(router))
}

/** Afterwards the router is as given; throws `conflict` when it changed since this revision was read. */
export async function updateRouter(tx: Tx, router: Router, now: Date): Promise<void> {
  const { id, revision } = router
  const [result] = await tx.orm
    .update(routers)
    .set({ ...columnsOf(router), updatedAt: now, revision: revision + 1 })
    .where(and(eq(routers.id, id), eq(routers.revision, revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Router ${id}`)
}

export async function deleteRouterRow(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(routers).where(eq(routers.id, id))
}

/** The subnets on the router, but for those of its external network. */
export async function attachedSubnets(
  db: Executor,
  routerId: string,
): Promise<readonly AttachedSubnet[]> {
  const rows = await db.orm
    .select({
      subnet: subnets,
      portId: routerInterfaces.portId,
      address: portAddresses.address,
    })
    .from(routerInterfaces)
    .innerJoin(subnets, eq(subnets.id, routerInterfaces.subnetId))
    .innerJoin(
      portAddresses,
      and(
        eq(portAddresses.portId, routerInterfaces.portId),
        eq(portAddresses.subnetId, routerInterfaces.subnetId),
      ),
    )
    .where(eq(routerInterfaces.routerId, routerId))
    .orderBy(routerInterfaces.portId, routerInterfaces.subnetId)
  return rows.map((row) => ({ ...row, subnet: toSubnet(row.subnet) }))
}

/** Afterwards the subnet is on the router by this port; false when it was before. */
export async function insertInterface(
  tx: Tx,
  row: typeof routerInterfaces.$inferInsert,
): Promise<boolean> {
  try {
    await tx.orm.insert(routerInterfaces).values(row)
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** Afterwards these subnets are not on the router. */
export async function deleteInterfaces(
  tx: Tx,
  routerId: string,
  subnetIds: readonly string[],
): Promise<void> {
  const { routerId: router, subnetId } = routerInterfaces
  await tx.orm
    .delete(routerInterfaces)
    .where(and(eq(router, routerId), inArray(subnetId, [...subnetIds])))
}

/** The ids of routers with an interface on any of these subnets. */
export async function routersOfSubnets(
  db: Executor,
  subnetIds: readonly string[],
): Promise<readonly string[]> {
  if (subnetIds.length === 0) return []
  const rows = await db.orm
    .selectDistinct({ id: routerInterfaces.routerId })
    .from(routerInterfaces)
    .where(inArray(routerInterfaces.subnetId, [...subnetIds]))
    .orderBy(routerInterfaces.routerId)
  return rows.map(({ id }) => id)
}

/** The port by which a router has this address of the subnet; undefined when none has. */
export async function interfaceAt(
  db: Executor,
  subnetId: string,
  address: string,
): Promise<string | undefined> {
  const [row] = await db.orm
    .select({ portId: routerInterfaces.portId })
    .from(routerInterfaces)
    .innerJoin(portAddresses, eq(portAddresses.portId, routerInterfaces.portId))
    .where(
      and(
        eq(routerInterfaces.subnetId, subnetId),
        eq(portAddresses.subnetId, subnetId),
        eq(portAddresses.address, address),
      ),
    )
  return row?.portId
}

/** True when the subnet is on a router. */
export async function isOnRouter(db: Executor, subnetId: string): Promise<boolean> {
  return (await db.orm.$count(routerInterfaces, eq(routerInterfaces.subnetId, subnetId))) > 0
}

/** True when a router has its gateway on the network. */
export async function isGatewayNetwork(db: Executor, networkId: string): Promise<boolean> {
  return (await db.orm.$count(routers, eq(routers.gatewayNetworkId, networkId))) > 0
}

/**
 * The router by which the subnet reaches the external network: of several, the one that the subnet's servers have as their
 * gateway. It keeps its interfaces and its gateway until the transaction ends. Undefined when there is none.
 */
export async function holdRouterTo(
  tx: Tx,
  subnet: Pick<Subnet, 'id' | 'gatewayIp'>,
  networkId: string,
): Promise<string | undefined> {
  const candidates = await routersBetween(tx, subnet.id, networkId)
  if (candidates.length === 0) return undefined
  const ids = candidates.map(({ routerId }) => routerId)
  await lockRows(tx, routers, inArray(routers.id, ids), routers.id)
  const rows = await routersBetween(tx, subnet.id, networkId)
  const found = rows.find(({ address }) => address === subnet.gatewayIp) ?? rows[0]
  return found?.routerId
}

async function routersBetween(db: Executor, subnetId: string, networkId: string) {
  return db.orm
    .select({ routerId: routers.id, address: portAddresses.address })
    .from(routerInterfaces)
    .innerJoin(routers, eq(routers.id, routerInterfaces.routerId))
    .innerJoin(
      portAddresses,
      and(
        eq(portAddresses.portId, routerInterfaces.portId),
        eq(portAddresses.subnetId, routerInterfaces.subnetId),
      ),
    )
    .where(and(eq(routerInterfaces.subnetId, subnetId), eq(routers.gatewayNetworkId, networkId)))
    .orderBy(routers.id)
}

async function routersOfRows(
  db: Executor,
  rows: readonly (typeof routers.$inferSelect)[],
): Promise<readonly Router[]> {
  const outside = rows.filter(({ gatewayPortId }) => gatewayPortId !== null)
  const inCells = await cellGateways(
    db,
    outside.map(({ id }) => id),
  )
  const ports = [
    ...outside.map(({ gatewayPortId }) => gatewayPortId!),
    ...inCells.map(({ portId }) => portId),
  ]
  const addresses =
    ports.length === 0
      ? []
      : await db.orm
          .select()
          .from(portAddresses)
          .where(inArray(portAddresses.portId, ports))
          .orderBy(portAddresses.subnetId, portAddresses.offset)
  const byPort = Map.groupBy(addresses, ({ portId }) => portId)
  const fixedIpsOf = (portId: string) =>
    (byPort.get(portId) ?? []).map(({ subnetId, address }) => ({ subnetId, address }))
  return rows.map(({ gatewayPortId: portId, gatewayNetworkId: networkId, ...row }) => {
    if (portId === null || networkId === null) return { ...row, gateway: null, cellGateways: [] }
    const own = inCells.filter(({ routerId }) => routerId === row.id)
    return {
      ...row,
      gateway: { portId, networkId, fixedIps: fixedIpsOf(portId) },
      cellGateways: own.map(({ cellId, portId: by }) => ({
        ...{ cellId, portId: by },
        fixedIps: fixedIpsOf(by),
      })),
    }
  })
}

function columnsOf({ gateway, cellGateways: _inCells, ...columns }: Router) {
  const gatewayPortId = gateway?.portId ?? null
  const gatewayNetworkId = gateway?.networkId ?? null
  return { ...columns, gatewayPortId, gatewayNetworkId }
}

/** True when the port is a router's interface or gateway. */
export async function holdsRouter(db: Executor, portId: string): Promise<boolean> {
  if ((await db.orm.$count(routerInterfaces, eq(routerInterfaces.portId, portId))) > 0) return true
  if ((await db.orm.$count(routerGateways, eq(routerGateways.portId, portId))) > 0) return true
  return (await db.orm.$count(routers, eq(routers.gatewayPortId, portId))) > 0
}
