import { and, eq, like, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { queueLostForwardings } from './port-forwardings.ts'
import { ports } from './schema/network.ts'
import { serverIndex } from './schema/servers.ts'
import { ascii, BY_KEY } from './server-attempts.ts'

const { placeholder } = sql

export interface Binding {
  readonly portId: string
  readonly deviceId: string
  readonly deviceOwner: string
  readonly nicIndex: number
  readonly nicTag: string | null
  readonly now: Date
}

const BIND = statement(
  builder
    .update(ports)
    .set({
      deviceId: sql`${placeholder('deviceId')}`,
      deviceOwner: sql`${placeholder('deviceOwner')}`,
      nicIndex: sql`${placeholder('nicIndex')}`,
      nicTag: sql`${placeholder('nicTag')}`,
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(and(eq(ports.id, placeholder('portId')), eq(ports.deviceId, ''))),
)

/** Gives a free port to the device; false when it has one, or is gone. */
export async function bindPort(tx: Tx, binding: Binding): Promise<boolean> {
  return (await tx.run(BIND, { ...binding })).affectedRows === 1
}

/** The id alone could be anyone's word; the owner is set by boots and administrators only. */
export const IS_SERVER_PORT = like(ports.deviceOwner, sql`'compute:%'`)

const SHOW_NICS = statement(
  builder
    .update(serverIndex)
    .set({
      addresses: sql`${placeholder('addresses')}`,
      securityGroups: sql`${placeholder('securityGroups')}`,
      updatedAt: sql`now(3)`,
    })
    .where(eq(serverIndex.serverId, placeholder('serverId'))),
)

/** What a server shows of its ports. */
export interface ShownNics {
  /** By network name, as the API's `addresses`. */
  readonly addresses: object
  /** Names. */
  readonly securityGroups: readonly string[]
}

/** Afterwards the server shows these addresses and groups. */
export async function showNics(tx: Tx, serverId: string, nics: ShownNics): Promise<void> {
  const addresses = JSON.stringify(nics.addresses)
  const securityGroups = JSON.stringify(nics.securityGroups)
  await tx.run(SHOW_NICS, { serverId, addresses, securityGroups })
}

const UNBIND_ONE = statement(
  builder
    .update(ports)
    .set({
      deviceId: '',
      deviceOwner: '',
      nicIndex: 0,
      nicTag: null,
      machineMac: null,
      hostName: '',
      status: 'DOWN',
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(and(eq(ports.id, placeholder('portId')), eq(ports.deviceId, placeholder('serverId')))),
)

/** Afterwards the port is not the server's; nothing changes where it was not. */
export async function unbindPort(
  tx: Tx,
  unbinding: { readonly portId: string; readonly serverId: string; readonly now: Date },
): Promise<void> {
  await tx.run(UNBIND_ONE, unbinding)
}

const SERVERS = sql`json_table(${placeholder('servers')}, '$[*]' columns (
  id ${ascii(36)} path '$')) v`
const PORTS = sql`json_table(${placeholder('ports')}, '$[*]' columns (
  id ${ascii(36)} path '$')) v`

const BOOT_MADE = sqlStatement(sql`
  select p.id, p.project_id from ${SERVERS} straight_join ports p on p.device_id = v.id
  where p.boot_made order by p.id for update`)

const REST = sqlStatement(sql`
  insert into released_addresses (subnet_id, address_offset, released_at)
  select a.subnet_id, a.address_offset, now(3)
  from ${PORTS} straight_join port_addresses a on a.port_id = v.id
  on duplicate key update released_at = now(3)`)

const DISASSOCIATE = sqlStatement(sql`
  update ${PORTS} straight_join floating_ips f on f.fixed_port_id = v.id
  set f.fixed_port_id = null, f.fixed_ip_address = null, f.router_id = null,
    f.updated_at = ${placeholder('now')}, f.revision_number = f.revision_number + 1`)

const DELETE_ALL = ['port_addresses', 'port_security_groups', 'ports'].map((table) => {
  const key = sql.raw(table === 'ports' ? 'id' : 'port_id')
  return sqlStatement(
    sql`delete t from ${PORTS} straight_join ${sql.raw(table)} t on t.${key} = v.id`,
  )
})

const UNBIND = sqlStatement(sql`
  update ${SERVERS} straight_join ports p on p.device_id = v.id
  set p.device_id = '', p.device_owner = '', p.nic_index = 0, p.nic_tag = null, p.machine_mac = null,
    p.binding_host = '', p.status = 'DOWN', p.data_plane_up = null, p.updated_at = ${placeholder('now')},
    p.revision_number = p.revision_number + 1
  where p.device_owner like 'compute:%' and not p.boot_made`)

/**
 * Afterwards no port belongs to the servers: those made for them are gone with their addresses, the users' are free.
 * The same few statements for any number of servers. Returns the project of each port that is gone.
 */
export async function releaseServerPorts(
  tx: Tx,
  serverIds: readonly string[],
  now: Date,
): Promise<readonly string[]> {
  const servers = JSON.stringify(serverIds)
  const made = await tx.rows<{ id: string; project_id: string }>(BOOT_MADE, { servers })
  if (made.length > 0) {
    const ports = JSON.stringify(made.map(({ id }) => id))
    tx.queue(REST, { ports })
    tx.queue(DISASSOCIATE, { ports, now })
    for (const each of DELETE_ALL) tx.queue(each, { ports })
    queueLostForwardings(
      tx,
      made.map(({ id }) => id),
    )
  }
  tx.queue(UNBIND, { servers, now })
  return made.map((port) => port.project_id)
}

/** A network engine knows better than the power of the guest. */
const statusBy = (powerState: string) =>
  sql.raw(`if(ifnull(p.data_plane_up, ${powerState} in (1, 3)), 'ACTIVE', 'DOWN')`)

/**
 * Only for views that the index shows, so that a cell speaks of no other's servers and old news changes nothing. A
 * port works while its guest runs or is paused (Nova's numbers 1 and 3): as with Neutron, it goes down with the guest.
 */
const BIND_TO_HOSTS = sqlStatement(sql`
  update json_table(${placeholder('views')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt',
    version int path '$.version', host ${ascii(64)} path '$.host',
    power_state int path '$.powerState')) v
  straight_join server_index s${BY_KEY} on s.server_id = v.server_id
  straight_join ports p on p.device_id = v.server_id
  set p.status = ${statusBy('v.power_state')}, p.binding_host = v.host,
    p.updated_at = now(3), p.revision_number = p.revision_number + 1
  where s.cell_id = ${placeholder('cellId')} and s.attempt = v.attempt and s.version = v.version
    and v.host is not null and p.device_owner like 'compute:%'
    and (p.binding_host <> v.host or p.status <> ${statusBy('v.power_state')})`)

/** Afterwards the servers' ports say which host they are on and whether they work there. */
export function queuePortBindings(tx: Tx, cellId: CellId, views: readonly InstanceView[]): void {
  if (views.length === 0) return
  const ordered = views.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
  const reports = ordered.map(({ serverId, attempt, version, host, powerState }) => {
    return { serverId, attempt, version, host, powerState }
  })
  tx.queue(BIND_TO_HOSTS, { views: JSON.stringify(reports), cellId })
}

const BIND_TO_HOST = sqlStatement(sql`
  update ports p straight_join server_index s${BY_KEY} on s.server_id = p.device_id
  set p.status = ${statusBy('s.power_state')}, p.binding_host = s.host,
    p.updated_at = now(3), p.revision_number = p.revision_number + 1
  where p.id = ${placeholder('portId')} and p.device_id = ${placeholder('serverId')}
    and p.device_owner like 'compute:%' and s.host is not null`)

/** The same for one port by what the index says now. Nothing changes where the port is not the server's, or that is on no host. */
export async function bindPortToHost(tx: Tx, serverId: string, portId: string): Promise<void> {
  await tx.run(BIND_TO_HOST, { serverId, portId })
}

const DATA_PLANE = sqlStatement(sql`
  update json_table(${placeholder('ports')}, '$[*]' columns (
    id ${ascii(36)} path '$.portId', is_up int path '$.isUp')) v
  straight_join ports p on p.id = v.id
  straight_join instance_mappings m on m.server_id = p.device_id
  set p.data_plane_up = v.is_up, p.status = if(v.is_up, 'ACTIVE', 'DOWN')
  where m.cell_id = ${placeholder('cellId')}`)

/** Afterwards the ports of the cell's servers have the status of its data plane; ports of others stay as they are. */
export function queueDataPlaneStatus(
  tx: Tx,
  cellId: CellId,
  reports: readonly { readonly portId: string; readonly isUp: boolean }[],
): void {
  if (reports.length === 0) return
  const ordered = reports.toSorted((a, b) => (a.portId < b.portId ? -1 : 1))
  const ports = ordered.map(({ portId, isUp }) => ({ portId, isUp: Number(isUp) }))
  tx.queue(DATA_PLANE, { ports: JSON.stringify(ports), cellId })
}

/** Nothing changes where the port is not the server's. */
export async function setPortStatus(
  tx: Tx,
  {
    portId,
    serverId,
    status,
  }: { readonly portId: string; readonly serverId: string; readonly status: string },
): Promise<void> {
  await tx.orm
    .update(ports)
    .set({ status })
    .where(and(eq(ports.id, portId), eq(ports.deviceId, serverId)))
}
