import { and, eq, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import { describedCollection } from './described-collection.ts'
import type { Ipv6Mode, Subnet } from './network.ts'
import { isSharedWith } from './rbac-policies.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { networks, portAddresses, subnets } from './schema/network.ts'
import { StaleRevision } from './stale-revision.ts'

const SUBNETS = describedCollection(subnets, {
  attributes: {
    network_id: subnets.networkId,
    ip_version: subnets.ipVersion,
    cidr: subnets.cidr,
    gateway_ip: subnets.gatewayIp,
    enable_dhcp: subnets.hasDhcp,
    subnetpool_id: subnets.subnetPoolId,
    ipv6_ra_mode: subnets.ipv6RaMode,
    ipv6_address_mode: subnets.ipv6AddressMode,
  },
})

/** A page of the subnets this project may see: its own and those of networks open to it; null sees all. */
export async function listSubnets(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly Subnet[]> {
  return readPage(db, SUBNETS, visibleTo(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(subnets)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(toSubnet)
  })
}

export async function findSubnet(db: Executor, id: string): Promise<Subnet | undefined> {
  const [row] = await db.orm.select().from(subnets).where(eq(subnets.id, id))
  return row === undefined ? undefined : toSubnet(row)
}

const BY_NETWORK = tableLookup(subnets, 'networkId')

/** The subnets of these networks, oldest first. */
export async function subnetsOfNetworks(
  db: Executor,
  networkIds: readonly string[],
): Promise<readonly Subnet[]> {
  const rows = await Promise.all(networkIds.map((id) => BY_NETWORK.all(db, id)))
  return rows.flat().map(toSubnet).toSorted(byAge)
}

export async function insertSubnet(tx: Tx, subnet: Subnet): Promise<void> {
  await tx.orm.insert(subnets).values(subnet)
}

/** Afterwards the subnet is as given; throws `conflict` when it changed since this revision was read. */
export async function updateSubnet(tx: Tx, subnet: Subnet, now: Date): Promise<void> {
  const { id, revision } = subnet
  const [result] = await tx.orm
    .update(subnets)
    .set({ ...subnet, updatedAt: now, revision: revision + 1 })
    .where(and(eq(subnets.id, id), eq(subnets.revision, revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Subnet ${id}`)
}

/** Afterwards there is no such subnet; false when there was none. */
export async function deleteSubnetRow(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(subnets).where(eq(subnets.id, id))
  return result.affectedRows === 1
}

/** Ids of ports that have an address of the subnet, at most `max`. */
export async function portsOnSubnet(
  db: Executor,
  id: string,
  max: number,
): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ portId: portAddresses.portId })
    .from(portAddresses)
    .where(eq(portAddresses.subnetId, id))
    .limit(max)
  return rows.map((row) => row.portId)
}

function byAge(a: Subnet, b: Subnet): number {
  const older = a.createdAt.getTime() - b.createdAt.getTime()
  return older === 0 ? (a.id < b.id ? -1 : 1) : older
}

function visibleTo(projectId: string | null): SQL | undefined {
  if (projectId === null) return undefined
  const isOpen = or(
    eq(networks.isShared, true),
    eq(networks.isExternal, true),
    isSharedWith(networks.id, projectId),
  )
  const onOpenNetwork = sql`EXISTS (SELECT 1 FROM ${networks} WHERE ${networks.id} = ${subnets.networkId} AND ${isOpen})`
  return or(eq(subnets.projectId, projectId), onOpenNetwork)
}

/** A row of `subnets`. */
export function toSubnet(row: typeof subnets.$inferSelect): Subnet {
  return {
    ...row,
    ipVersion: row.ipVersion === 6 ? 6 : 4,
    ipv6RaMode: row.ipv6RaMode as Ipv6Mode | null,
    ipv6AddressMode: row.ipv6AddressMode as Ipv6Mode | null,
    dnsServers: row.dnsServers,
    hostRoutes: row.hostRoutes,
    pools: row.pools,
  }
}
