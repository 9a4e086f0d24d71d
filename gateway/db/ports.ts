import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { describedCollection } from './described-collection.ts'
import type { Port } from './network.ts'
import { type FilterValue, type ResourcePage, readPage } from './resource-page.ts'
import { networks, portAddresses, portSecurityGroups, ports } from './schema/network.ts'
import { floatingIps } from './schema/routing.ts'
import { IS_SERVER_PORT } from './server-ports.ts'
import { StaleRevision } from './stale-revision.ts'

/** Enough to tell that an address is of several ports. */
const SAME_ADDRESS_MAX = 10

const anyOfText = (values: readonly FilterValue[]): SQL =>
  sql.join(
    values.map((value) => sql`${value}`),
    sql`, `,
  )

export const PORTS = describedCollection(ports, {
  attributes: {
    network_id: ports.networkId,
    mac_address: ports.macAddress,
    admin_state_up: ports.isUp,
    status: ports.status,
    device_id: ports.deviceId,
    device_owner: ports.deviceOwner,
    'binding:host_id': ports.hostName,
    port_security_enabled: ports.hasPortSecurity,
  },
  conditions: {
    mac_address: (anyOf) =>
      sql`(${ports.machineMac} IN (${anyOfText(anyOf)}) OR (${ports.machineMac} IS NULL AND ${ports.macAddress} IN (${anyOfText(anyOf)})))`,
    ip_address: (anyOf) =>
      sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.portId} = ${ports.id} AND ${portAddresses.address} IN (${anyOfText(anyOf)}))`,
    ip_address_substr: ([part]) =>
      sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.portId} = ${ports.id} AND LOCATE(${part}, ${portAddresses.address}) > 0)`,
    subnet_id: (anyOf) =>
      sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.portId} = ${ports.id} AND ${portAddresses.subnetId} IN (${anyOfText(anyOf)}))`,
    security_groups: (anyOf) =>
      sql`EXISTS (SELECT 1 FROM ${portSecurityGroups} WHERE ${portSecurityGroups.portId} = ${ports.id} AND ${portSecurityGroups.groupId} IN (${anyOfText(anyOf)}))`,
  },
})

/** A page of the ports this project may see: its own and those on its networks; null sees all. */
export async function listPorts(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly Port[]> {
  return readPage(db, PORTS, visibleTo(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(ports)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return portsOfRows(db, rows)
  })
}

/** Keeps the port from being deleted until the transaction ends; false when it is gone. */
export async function holdPort(tx: Tx, id: string): Promise<boolean> {
  return (await lockRows(tx, ports, eq(ports.id, id))) === 1
}

export async function findPorts(db: Executor, ids: readonly string[]): Promise<readonly Port[]> {
  if (ids.length === 0) return []
  const rows = await db.orm
    .select()
    .from(ports)
    .where(inArray(ports.id, [...ids]))
  return portsOfRows(db, rows)
}

/** The ports that have this address, of whichever network, the first few. */
export async function portsWithAddress(db: Executor, address: string): Promise<readonly Port[]> {
  const rows = await db.orm
    .selectDistinct({ id: portAddresses.portId })
    .from(portAddresses)
    .where(eq(portAddresses.address, address))
    .limit(SAME_ADDRESS_MAX)
  return findPorts(
    db,
    rows.map(({ id }) => id),
  )
}

/** The ports of a server in the order of its NICs. */
export async function portsOfServer(db: Executor, serverId: string): Promise<readonly Port[]> {
  const rows = await db.orm
    .select()
    .from(ports)
    .where(and(eq(ports.deviceId, serverId), IS_SERVER_PORT))
    .orderBy(ports.nicIndex, ports.id)
  return portsOfRows(db, rows)
}

/** The networks of the server's ports, each once, in the order of its NICs. */
export async function networkIdsOfServer(
  db: Executor,
  serverId: string,
): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ networkId: ports.networkId })
    .from(ports)
    .where(and(eq(ports.deviceId, serverId), IS_SERVER_PORT))
    .orderBy(ports.nicIndex, ports.id)
  return [...new Set(rows.map(({ networkId }) => networkId))]
}

/** Afterwards the port's own columns are as given; throws `conflict` when it changed since this revision was read. */
export async function updatePort(tx: Tx, port: Port, now: Date): Promise<void> {
  const { fixedIps: _fixed, floatingIps: _floating, securityGroupIds: _groups, ...rest } = port
  const { macAddress: _mac, tunnelKey: _key, ...columns } = rest
  const [result] = await tx.orm
    .update(ports)
    .set({ ...columns, updatedAt: now, revision: port.revision + 1 })
    .where(and(eq(ports.id, port.id), eq(ports.revision, port.revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Port ${port.id}`)
}

/** Deletes the port's row; false when there is none, or the port belongs to another device than was read. */
export async function deletePortRow(
  tx: Tx,
  { id, deviceId }: Pick<Port, 'id' | 'deviceId'>,
): Promise<boolean> {
  const [result] = await tx.orm
    .delete(ports)
    .where(and(eq(ports.id, id), eq(ports.deviceId, deviceId)))
  return result.affectedRows === 1
}

function visibleTo(projectId: string | null): SQL | undefined {
  if (projectId === null) return undefined
  const onOwnNetwork = sql`EXISTS (SELECT 1 FROM ${networks} WHERE ${networks.id} = ${ports.networkId} AND ${networks.projectId} = ${projectId})`
  return or(eq(ports.projectId, projectId), onOwnNetwork)
}

/** These rows with what they have in other tables. */
export async function portsOfRows(
  db: Executor,
  rows: readonly (typeof ports.$inferSelect)[],
): Promise<readonly Port[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  // One after the other: inside a transaction there is one connection.
  const addresses = await db.orm
    .select()
    .from(portAddresses)
    .where(inArray(portAddresses.portId, ids))
    .orderBy(portAddresses.subnetId, portAddresses.offset)
  const groups = await db.orm
    .select()
    .from(portSecurityGroups)
    .where(inArray(portSecurityGroups.portId, ids))
  const floating = await db.orm
    .select({
      portId: floatingIps.fixedPortId,
      fixedAddress: floatingIps.fixedAddress,
      address: floatingIps.address,
    })
    .from(floatingIps)
    .where(inArray(floatingIps.fixedPortId, ids))
    .orderBy(floatingIps.address)
  const floatingOf = Map.groupBy(floating, (row) => row.portId)
  const addressesOf = Map.groupBy(addresses, (row) => row.portId)
  const groupsOf = Map.groupBy(groups, (row) => row.portId)
  return rows.map(({ machineMac, ...row }) => ({
    ...row,
    macAddress: machineMac ?? row.macAddress,
    isMachine: machineMac !== null,
    fixedIps: (addressesOf.get(row.id) ?? []).map(({ subnetId, address }) => ({
      subnetId,
      address,
    })),
    floatingIps: (floatingOf.get(row.id) ?? []).flatMap(({ fixedAddress, address }) =>
      fixedAddress === null ? [] : [{ fixedAddress, address }],
    ),
    securityGroupIds: (groupsOf.get(row.id) ?? []).map((group) => group.groupId),
  }))
}

export type PortOnNetwork = Pick<Port, 'id' | 'macAddress' | 'deviceOwner' | 'deviceId'>

/** The ports of the network, none of which goes until the transaction ends. */
export async function lockPortsOnNetwork(
  tx: Tx,
  networkId: string,
): Promise<readonly PortOnNetwork[]> {
  const { id, macAddress, deviceOwner, deviceId } = ports
  const isOnNetwork = eq(ports.networkId, networkId)
  await lockRows(tx, ports, isOnNetwork, id)
  return tx.orm
    .select({ id, macAddress, deviceOwner, deviceId })
    .from(ports)
    .where(isOnNetwork)
    .orderBy(id)
}

/** Which addresses of the subnet ports have. */
export async function addressesOnSubnet(
  db: Executor,
  subnetId: string,
): Promise<
  readonly { readonly subnetId: string; readonly address: string; readonly portId: string }[]
> {
  const { subnetId: subnet, address, portId } = portAddresses
  return db.orm
    .select({ subnetId: subnet, address, portId })
    .from(portAddresses)
    .where(eq(subnet, subnetId))
}
