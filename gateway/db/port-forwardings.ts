import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { ports } from './schema/network.ts'
import { floatingIps, portForwardings } from './schema/routing.ts'
import { instanceMappings } from './schema/servers.ts'
import { ascii } from './server-attempts.ts'
import { StaleRevision } from './stale-revision.ts'

export type ForwardedProtocol = 'tcp' | 'udp'

/** Ports of a floating IP that lead to ports of a server. */
export interface PortForwarding {
  readonly id: string
  readonly floatingIpId: string
  /** Through which it is reached. */
  readonly routerId: string
  readonly description: string
  readonly protocol: ForwardedProtocol
  readonly external: PortRange
  /** Of the server's side. */
  readonly portId: string
  readonly address: string
  /** As many as the external ones, or one for all. */
  readonly internal: PortRange
}

/** Both are of the range. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

const FORWARDINGS = {
  table: portForwardings,
  id: portForwardings.id,
  attributes: {
    id: portForwardings.id,
    description: portForwardings.description,
    internal_port_id: portForwardings.portId,
    external_port: portForwardings.externalFirst,
    protocol: portForwardings.protocol,
  },
}

/** A page of the floating IP's forwardings. */
export function listPortForwardings(
  db: Executor,
  floatingIpId: string,
  page: ResourcePage,
): Promise<readonly PortForwarding[]> {
  const own = eq(portForwardings.floatingIpId, floatingIpId)
  return readPage(db, FORWARDINGS, own, page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(portForwardings)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(toForwarding)
  })
}

export async function findPortForwarding(
  db: Executor,
  id: string,
): Promise<PortForwarding | undefined> {
  return (await forwardingsWhere(db, eq(portForwardings.id, id)))[0]
}

/** The forwardings of these floating IPs, by id. */
export function forwardingsOf(
  db: Executor,
  floatingIpIds: readonly string[],
): Promise<readonly PortForwarding[]> {
  if (floatingIpIds.length === 0) return Promise.resolve([])
  return forwardingsWhere(db, inArray(portForwardings.floatingIpId, [...floatingIpIds]))
}

/** The forwardings of the floating IP and those to the port. */
export function forwardingsBeside(
  db: Executor,
  { floatingIpId, portId }: Pick<PortForwarding, 'floatingIpId' | 'portId'>,
): Promise<readonly PortForwarding[]> {
  const { floatingIpId: ip, portId: port } = portForwardings
  return forwardingsWhere(db, or(eq(ip, floatingIpId), eq(port, portId)))
}

/** The cells of the servers that have these ports. */
export async function cellsOfPorts(
  db: Executor,
  portIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ cellId: instanceMappings.cellId })
    .from(ports)
    .innerJoin(instanceMappings, eq(instanceMappings.serverId, ports.deviceId))
    .where(inArray(ports.id, [...portIds]))
  return rows.flatMap(({ cellId }) => cellId ?? [])
}

/** The forwardings through these routers, each with the address of its floating IP. */
export async function forwardingsThrough(
  db: Executor,
  routerIds: readonly string[],
): Promise<readonly (PortForwarding & { readonly floatingAddress: string })[]> {
  if (routerIds.length === 0) return []
  const rows = await db.orm
    .select({ forwarding: portForwardings, floatingAddress: floatingIps.address })
    .from(portForwardings)
    .innerJoin(floatingIps, eq(floatingIps.id, portForwardings.floatingIpId))
    .where(inArray(portForwardings.routerId, [...routerIds]))
    .orderBy(portForwardings.id)
  return rows.map(({ forwarding, floatingAddress }) => {
    return { ...toForwarding(forwarding), floatingAddress }
  })
}

export async function insertPortForwarding(tx: Tx, forwarding: PortForwarding): Promise<void> {
  await tx.orm.insert(portForwardings).values(columnsOf(forwarding))
}

export async function updatePortForwarding(tx: Tx, forwarding: PortForwarding): Promise<void> {
  const { id, ...columns } = columnsOf(forwarding)
  await tx.orm.update(portForwardings).set(columns).where(eq(portForwardings.id, id))
}

/** False when there is none. */
export async function deletePortForwardingRow(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(portForwardings).where(eq(portForwardings.id, id))
  return result.affectedRows === 1
}

/** Afterwards the revision of the floating IP is one higher. Throws `conflict` when it changed since this one was read. */
export async function raiseRevision(
  tx: Tx,
  { id, revision }: { readonly id: string; readonly revision: number },
  now: Date,
): Promise<void> {
  const [result] = await tx.orm
    .update(floatingIps)
    .set({ updatedAt: now, revision: revision + 1 })
    .where(and(eq(floatingIps.id, id), eq(floatingIps.revision, revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Floating IP ${id}`)
}

const PORTS = sql`json_table(${sql.placeholder('ports')}, '$[*]' columns (
  id ${ascii(36)} path '$')) v`

const END = sqlStatement(sql`
  delete f from ${PORTS} straight_join port_forwardings f on f.internal_port_id = v.id
  where not exists (select 1 from port_addresses a
    where a.port_id = f.internal_port_id and a.ip_address = f.internal_ip_address)`)

/** Afterwards nothing is forwarded to addresses of these ports that they do not have, or to ports that are gone. */
export function queueLostForwardings(tx: Tx, portIds: readonly string[]): void {
  tx.queue(END, { ports: JSON.stringify(portIds) })
}

async function forwardingsWhere(
  db: Executor,
  where: SQL | undefined,
): Promise<readonly PortForwarding[]> {
  const rows = await db.orm.select().from(portForwardings).where(where).orderBy(portForwardings.id)
  return rows.map(toForwarding)
}

function toForwarding(row: typeof portForwardings.$inferSelect): PortForwarding {
  const { externalFirst, externalLast, internalFirst, internalLast, ...rest } = row
  return {
    ...rest,
    external: { first: externalFirst, last: externalLast },
    internal: { first: internalFirst, last: internalLast },
  }
}

function columnsOf({ external, internal, ...rest }: PortForwarding) {
  return {
    ...rest,
    externalFirst: external.first,
    externalLast: external.last,
    internalFirst: internal.first,
    internalLast: internal.last,
  }
}
