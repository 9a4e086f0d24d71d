import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { describedCollection } from './described-collection.ts'
import type { Described, Port } from './network.ts'
import { forwardingsOf, type PortForwarding, queueLostForwardings } from './port-forwardings.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { portAddresses, ports } from './schema/network.ts'
import { floatingIps, portForwardings } from './schema/routing.ts'
import { ascii } from './server-attempts.ts'
import { StaleRevision } from './stale-revision.ts'

export interface FloatingIp extends Omit<Described, 'name'> {
  /** External. */
  readonly networkId: string
  readonly address: string
  /** On the external network: holds the address. */
  readonly portId: string
  // All three null while it leads to no port.
  readonly fixedPortId: string | null
  readonly fixedAddress: string | null
  readonly routerId: string | null
  /** What the cell of the port's server said last; null: nothing, and where OVN leads it that is no problem. */
  readonly reportedStatus: 'ACTIVE' | 'DOWN' | 'ERROR' | null
  /** Why it leads to its port not yet or not at all, for operators. */
  readonly problem: string | null
  /** The port `fixedPortId`. */
  readonly fixedPort: PortSummary | null
  /** None while it leads to a port as a whole. */
  readonly forwardings: readonly PortForwarding[]
}

/** What a floating IP shows of the port that has it. */
export type PortSummary = Pick<
  Port,
  'name' | 'networkId' | 'macAddress' | 'isUp' | 'status' | 'deviceId' | 'deviceOwner'
>

const FLOATING_IPS = describedCollection(floatingIps, {
  attributes: {
    floating_network_id: floatingIps.networkId,
    floating_ip_address: floatingIps.address,
    port_id: floatingIps.fixedPortId,
    fixed_ip_address: floatingIps.fixedAddress,
    router_id: floatingIps.routerId,
  },
  conditions: {
    status: (anyOf) => or(...anyOf.map(hasStatus)) ?? sql`FALSE`,
  },
})

export type FloatingIpStatus = 'ACTIVE' | 'DOWN' | 'ERROR'

function hasStatus(status: unknown): SQL {
  return eq(STATUS, status)
}

const IS_FORWARDED = sql`exists (select 1 from ${portForwardings} where ${portForwardings.floatingIpId} = ${floatingIps.id})`
const STATUS = sql<FloatingIpStatus>`if(${floatingIps.fixedPortId} is null, if(${IS_FORWARDED}, 'ACTIVE', 'DOWN'), ifnull(${floatingIps.reportedStatus}, 'ACTIVE'))`

/** A page of the project's floating IPs; null sees all. */
export function listFloatingIps(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly FloatingIp[]> {
  const visible = projectId === null ? undefined : eq(floatingIps.projectId, projectId)
  return readPage(db, FLOATING_IPS, visible, page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(floatingIps)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return withPorts(db, rows)
  })
}

export async function findFloatingIp(db: Executor, id: string): Promise<FloatingIp | undefined> {
  const rows = await db.orm.select().from(floatingIps).where(eq(floatingIps.id, id))
  return (await withPorts(db, rows))[0]
}

/** The project's floating IP with this address; null: of any project. */
export async function floatingIpWith(
  db: Executor,
  projectId: string | null,
  address: string,
): Promise<FloatingIp | undefined> {
  const own = projectId === null ? undefined : eq(floatingIps.projectId, projectId)
  const where = and(eq(floatingIps.address, address), own)
  const rows = await db.orm.select().from(floatingIps).where(where).limit(1)
  return (await withPorts(db, rows))[0]
}

export async function insertFloatingIp(
  tx: Tx,
  { fixedPort: _port, forwardings: _forwardings, ...columns }: FloatingIp,
): Promise<boolean> {
  return isNew(() => tx.orm.insert(floatingIps).values(columns))
}

/**
 * Afterwards the floating IP is as given; false, and it is not, when its fixed address has another of the same network.
 * Throws `conflict` when it changed since this revision was read.
 */
export async function updateFloatingIp(
  tx: Tx,
  { fixedPort: _port, forwardings: _forwardings, ...columns }: FloatingIp,
  now: Date,
): Promise<boolean> {
  const { id, revision } = columns
  return isNew(async () => {
    const [result] = await tx.orm
      .update(floatingIps)
      .set({ ...columns, updatedAt: now, revision: revision + 1 })
      .where(and(eq(floatingIps.id, id), eq(floatingIps.revision, revision)))
    if (result.affectedRows !== 1) throw new StaleRevision(`Floating IP ${id}`)
  })
}

/** False where the fixed address has a floating IP already. */
async function isNew(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    if (isDuplicate(error, 'floating_ips_by_fixed_address')) return false
    throw error
  }
}

/** False when there is none. */
export async function deleteFloatingIpRow(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(floatingIps).where(eq(floatingIps.id, id))
  return result.affectedRows === 1
}

/** True when floating IPs need the router's gateway, or, where `subnetId` is given, its interface on that subnet. */
export async function isRouterNeeded(
  db: Executor,
  routerId: string,
  subnetId?: string,
): Promise<boolean> {
  const onSubnet =
    subnetId === undefined
      ? undefined
      : sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.portId} = ${floatingIps.fixedPortId}
          AND ${portAddresses.address} = ${floatingIps.fixedAddress} AND ${portAddresses.subnetId} = ${subnetId})`
  if ((await db.orm.$count(floatingIps, and(eq(floatingIps.routerId, routerId), onSubnet))) > 0)
    return true
  const toSubnet =
    subnetId === undefined
      ? undefined
      : sql`EXISTS (SELECT 1 FROM ${portAddresses} WHERE ${portAddresses.portId} = ${portForwardings.portId}
          AND ${portAddresses.address} = ${portForwardings.address} AND ${portAddresses.subnetId} = ${subnetId})`
  const isThrough = and(eq(portForwardings.routerId, routerId), toSubnet)
  return (await db.orm.$count(portForwardings, isThrough)) > 0
}

const DISASSOCIATE = sqlStatement(sql`
  update floating_ips f set f.fixed_port_id = null, f.fixed_ip_address = null, f.router_id = null,
    f.updated_at = now(3), f.revision_number = f.revision_number + 1
  where f.fixed_port_id = ${sql.placeholder('portId')} and not exists (
    select 1 from port_addresses a where a.port_id = f.fixed_port_id and a.ip_address = f.fixed_ip_address)`)

/** Afterwards no floating IP is the port's for an address that it does not have, and no port of one is forwarded there. */
export async function disassociateLost(tx: Tx, portId: string): Promise<void> {
  await tx.run(DISASSOCIATE, { portId })
  queueLostForwardings(tx, [portId])
}

/** The floating IP that leads to the port, if it has one. */
export async function floatingIpOfPort(
  db: Executor,
  portId: string,
): Promise<Pick<FloatingIp, 'id' | 'address'> | undefined> {
  const { id, address, fixedPortId } = floatingIps
  const [row] = await db.orm
    .select({ id, address })
    .from(floatingIps)
    .where(eq(fixedPortId, portId))
    .limit(1)
  return row
}

/** True when floating IPs are of the network. */
export async function hasFloatingIps(db: Executor, networkId: string): Promise<boolean> {
  return (await db.orm.$count(floatingIps, eq(floatingIps.networkId, networkId))) > 0
}

/** True when the port is what a floating IP has its address by. */
export async function holdsFloatingIp(db: Executor, portId: string): Promise<boolean> {
  return (await db.orm.$count(floatingIps, eq(floatingIps.portId, portId))) > 0
}

const REPORT = sqlStatement(sql`
  update json_table(${sql.placeholder('reports')}, '$[*]' columns (
    id ${ascii(36)} path '$.id', port_id ${ascii(36)} path '$.portId',
    fixed_address ${ascii(45)} path '$.fixedAddress', status ${ascii(6)} path '$.status',
    problem varchar(1000) path '$.problem')) v
  straight_join floating_ips f on f.id = v.id and f.fixed_port_id = v.port_id and f.fixed_ip_address = v.fixed_address
  straight_join ports p on p.id = f.fixed_port_id
  straight_join instance_mappings m on m.server_id = p.device_id
  set f.reported_status = v.status, f.problem = v.problem
  where m.cell_id = ${sql.placeholder('cellId')}`)

/** Afterwards those of these floating IPs that lead to a server of the cell as it says have the status and problem that it says. */
export function queueFloatingIpStatus(
  tx: Tx,
  cellId: CellId,
  reports: readonly (Pick<FloatingIp, 'id' | 'problem'> & {
    readonly portId: string
    readonly fixedAddress: string
    readonly status: FloatingIpStatus
  })[],
): void {
  if (reports.length === 0) return
  const ordered = reports.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  tx.queue(REPORT, { reports: JSON.stringify(ordered), cellId })
}

async function withPorts(
  db: Executor,
  rows: readonly (typeof floatingIps.$inferSelect)[],
): Promise<readonly FloatingIp[]> {
  const ids = [...new Set(rows.flatMap(({ fixedPortId }) => fixedPortId ?? []))]
  const found =
    ids.length === 0 ? [] : await db.orm.select().from(ports).where(inArray(ports.id, ids))
  const byId = new Map(found.map((port) => [port.id, port]))
  const free = rows.filter(({ fixedPortId }) => fixedPortId === null).map(({ id }) => id)
  const all = Map.groupBy(await forwardingsOf(db, free), ({ floatingIpId }) => floatingIpId)
  return rows.map((row) => {
    const port = byId.get(row.fixedPortId ?? '')
    const forwardings = all.get(row.id) ?? []
    if (port === undefined) return { ...row, fixedPort: null, forwardings }
    const { name, networkId, macAddress, machineMac, isUp, status, deviceId, deviceOwner } = port
    const mac = machineMac ?? macAddress
    return {
      ...row,
      forwardings,
      fixedPort: { name, networkId, macAddress: mac, isUp, status, deviceId, deviceOwner },
    }
  })
}
