import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import { describedCollection } from './described-collection.ts'
import type { Network, Subnet } from './network.ts'
import { isSharedWith } from './rbac-policies.ts'
import { type FilterValue, type ResourcePage, readPage } from './resource-page.ts'
import { networkSegments, networks, ports, subnets } from './schema/network.ts'
import { autoAllocatedTopologies } from './schema/routing.ts'
import { StaleRevision } from './stale-revision.ts'
import { subnetsOfNetworks } from './subnets.ts'

const TYPE = sql`IF(${networks.physicalNetwork} IS NULL, 'geneve', IF(${networks.vlanId} = 0, 'flat', 'vlan'))`
const SEGMENT = sql`IF(${networks.physicalNetwork} IS NULL, ${networks.tunnelKey}, NULLIF(${networks.vlanId}, 0))`

const valuesOf = (anyOf: readonly FilterValue[]): SQL =>
  sql.join(
    anyOf.map((value) => sql`${value}`),
    sql`, `,
  )

const NETWORKS = describedCollection(networks, {
  attributes: {
    admin_state_up: networks.isUp,
    shared: networks.isShared,
    'router:external': networks.isExternal,
    mtu: networks.mtu,
    is_default: networks.isDefault,
    'provider:physical_network': networks.physicalNetwork,
    port_security_enabled: networks.hasPortSecurity,
  },
  conditions: {
    'provider:network_type': (anyOf) => sql`${TYPE} IN (${valuesOf(anyOf)})`,
    'provider:segmentation_id': (anyOf) => sql`${SEGMENT} IN (${valuesOf(anyOf)})`,
    // A network is always ready: nothing about it is built.
    status: (anyOf) => (anyOf.includes('ACTIVE') ? sql`TRUE` : sql`FALSE`),
  },
})

/** What a project sees as shared is what it may use besides its own. */
function asSharedWith(projectId: string): typeof NETWORKS {
  const isShared = sql`(${networks.isShared} OR ${isSharedWith(networks.id, projectId)})`
  const conditions: typeof NETWORKS.conditions = {
    ...NETWORKS.conditions,
    shared: (anyOf) => sql`${isShared} IN (${valuesOf([...anyOf].map(Number))})`,
  }
  return { ...NETWORKS, conditions }
}

/** A page of the networks this project may see: its own, shared and external ones; null sees all. */
export async function listNetworks(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly Network[]> {
  const collection = projectId === null ? NETWORKS : asSharedWith(projectId)
  return readPage(db, collection, visibleTo(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(networks)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return networksOfRows(db, rows)
  })
}

const BY_ID = tableLookup(networks, 'id')
const SEGMENTS = tableLookup(networkSegments, 'networkId')

export async function findNetworks(
  db: Executor,
  ids: readonly string[],
): Promise<readonly Network[]> {
  const [found, subnetRows, segmentRows] = await Promise.all([
    Promise.all(ids.map((id) => BY_ID.one(db, id))),
    subnetsOfNetworks(db, ids),
    Promise.all(ids.map((id) => SEGMENTS.all(db, id))),
  ])
  const rows = found.filter((row) => row !== undefined)
  return withParts(rows, subnetRows, segmentRows.flat())
}

/** The external network that topologies are joined with unasked. */
export async function defaultExternalNetwork(db: Executor): Promise<Network | undefined> {
  const rows = await db.orm.select().from(networks).where(eq(networks.isDefault, true))
  return (await networksOfRows(db, rows))[0]
}

/** At most `max` of the networks a server of the project would be put on when it names none. */
export async function networksForBoot(
  db: Executor,
  projectId: string,
  max: number,
): Promise<readonly Network[]> {
  const isUsable = or(
    eq(networks.projectId, projectId),
    eq(networks.isShared, true),
    isSharedWith(networks.id, projectId),
  )
  const rows = await db.orm.select().from(networks).where(isUsable).orderBy(networks.id).limit(max)
  return networksOfRows(db, rows)
}

/** Afterwards the network and its segments exist; unless another has its key or its VLAN, or is the default one. */
export async function insertNetwork(
  tx: Tx,
  network: Network,
): Promise<'inserted' | 'key-taken' | 'vlan-taken' | 'default-taken'> {
  try {
    await tx.orm.insert(networks).values(columnsOf(network))
  } catch (error) {
    if (isDuplicate(error, 'networks_by_tunnel_key')) return 'key-taken'
    if (isDuplicate(error, 'networks_by_vlan')) return 'vlan-taken'
    if (isDuplicate(error, 'networks_by_default')) return 'default-taken'
    throw error
  }
  await insertSegments(tx, network)
  return 'inserted'
}

/**
 * Afterwards the network is as given; false, and it is not, when another is the default one. Throws `conflict` when it
 * changed since this revision was read.
 */
export async function updateNetwork(tx: Tx, network: Network, now: Date): Promise<boolean> {
  const { id, createdAt, revision, ...columns } = columnsOf(network)
  try {
    const [result] = await tx.orm
      .update(networks)
      .set({ ...columns, createdAt, updatedAt: now, revision: revision + 1 })
      .where(and(eq(networks.id, id), eq(networks.revision, revision)))
    if (result.affectedRows !== 1) throw new StaleRevision(`Network ${id}`)
  } catch (error) {
    if (isDuplicate(error, 'networks_by_default')) return false
    throw error
  }
  await tx.orm.delete(networkSegments).where(eq(networkSegments.networkId, id))
  await insertSegments(tx, network)
  return true
}

/**
 * Holds the network's row until the transaction ends, so that nothing is put on it while it goes, and nothing goes
 * while something is put on it. False when there is none.
 */
export async function lockNetwork(tx: Tx, id: string): Promise<boolean> {
  return (await lockRows(tx, networks, eq(networks.id, id))) === 1
}

/** Deletes the network, its segments, its subnets, and that it was allocated to a project. */
export async function deleteNetworkRows(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(networks).where(eq(networks.id, id))
  await tx.orm.delete(networkSegments).where(eq(networkSegments.networkId, id))
  await tx.orm.delete(subnets).where(eq(subnets.networkId, id))
  await tx.orm.delete(autoAllocatedTopologies).where(eq(autoAllocatedTopologies.networkId, id))
}

/** The ids of some ports of the network, at most `max`. */
export async function portsOnNetwork(
  db: Executor,
  id: string,
  max: number,
): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ id: ports.id })
    .from(ports)
    .where(eq(ports.networkId, id))
    .limit(max)
  return rows.map((row) => row.id)
}

function visibleTo(projectId: string | null): SQL | undefined {
  if (projectId === null) return undefined
  return or(
    eq(networks.projectId, projectId),
    eq(networks.isShared, true),
    eq(networks.isExternal, true),
    isSharedWith(networks.id, projectId),
  )
}

async function networksOfRows(
  db: Executor,
  rows: readonly (typeof networks.$inferSelect)[],
): Promise<readonly Network[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  // One after the other: inside a transaction there is one connection.
  const subnetRows = await db.orm
    .select({ id: subnets.id, networkId: subnets.networkId })
    .from(subnets)
    .where(inArray(subnets.networkId, ids))
  const segmentRows = await db.orm
    .select()
    .from(networkSegments)
    .where(inArray(networkSegments.networkId, ids))
  return withParts(rows, subnetRows, segmentRows)
}

function withParts(
  rows: readonly (typeof networks.$inferSelect)[],
  subnetRows: readonly Pick<Subnet, 'id' | 'networkId'>[],
  segmentRows: readonly (typeof networkSegments.$inferSelect)[],
): readonly Network[] {
  const subnetsOf = Map.groupBy(subnetRows, (row) => row.networkId)
  const segmentsOf = Map.groupBy(segmentRows, (row) => row.networkId)
  return rows.map((row) => ({
    ...row,
    isDefault: row.isDefault === true,
    subnetIds: subnetsOf.get(row.id)?.map((subnet) => subnet.id) ?? [],
    cellIds: segmentsOf.get(row.id)?.map((segment) => segment.cellId) ?? [],
  }))
}

function columnsOf(
  network: Network,
): typeof networks.$inferInsert & { revision: number; id: string } {
  const { subnetIds: _subnetIds, cellIds: _cellIds, ...columns } = network
  // Null in place of false: the unique key allows one true and any number of nulls.
  return { ...columns, isDefault: network.isDefault ? true : null }
}

async function insertSegments(tx: Tx, network: Network): Promise<void> {
  const rows = network.cellIds.map((cellId) => ({ networkId: network.id, cellId }))
  if (rows.length > 0) await tx.orm.insert(networkSegments).values(rows)
}
