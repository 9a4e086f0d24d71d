import { and, eq, like, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { ports } from './schema/network.ts'
import { ascii } from './server-attempts.ts'

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

const UNBIND = statement(
  builder
    .update(ports)
    .set({
      deviceId: '',
      deviceOwner: '',
      nicIndex: 0,
      nicTag: null,
      hostName: '',
      status: 'DOWN',
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(
      and(
        eq(ports.deviceId, placeholder('deviceId')),
        IS_SERVER_PORT,
        eq(ports.isBootMade, sql`FALSE`),
      ),
    ),
)

/** Afterwards no port that a user made belongs to the device. */
export async function unbindUserPorts(tx: Tx, deviceId: string, now: Date): Promise<void> {
  await tx.run(UNBIND, { deviceId, now })
}

const BOOT_MADE = statement(
  builder
    .select({ id: ports.id, projectId: ports.projectId })
    .from(ports)
    .where(and(eq(ports.deviceId, placeholder('deviceId')), eq(ports.isBootMade, sql`TRUE`)))
    .for('update'),
)

/** The ports made for the device, held until the transaction ends. */
export async function holdBootMadePorts(
  tx: Tx,
  deviceId: string,
): Promise<readonly { readonly id: string; readonly projectId: string }[]> {
  const rows = await tx.rows<{ id: string; project_id: string }>(BOOT_MADE, { deviceId })
  return rows.map((row) => ({ id: row.id, projectId: row.project_id }))
}

const DELETE_PORT = statement(builder.delete(ports).where(eq(ports.id, placeholder('portId'))))

export async function deleteBootMadePort(tx: Tx, portId: string): Promise<void> {
  await tx.run(DELETE_PORT, { portId })
}

/**
 * Only for views that the index shows, so that a cell speaks of no other's servers and old news changes nothing. A
 * port works while its guest runs or is paused (Nova's numbers 1 and 3): as with Neutron, it goes down with the guest.
 */
const BIND_TO_HOSTS = sqlStatement(sql`
  update json_table(${placeholder('views')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt',
    version int path '$.version', host ${ascii(64)} path '$.host',
    power_state int path '$.powerState')) v
  straight_join server_index s on s.server_id = v.server_id
  straight_join ports p on p.device_id = v.server_id
  set p.status = if(v.power_state in (1, 3), 'ACTIVE', 'DOWN'), p.binding_host = v.host,
    p.updated_at = now(3), p.revision_number = p.revision_number + 1
  where s.cell_id = ${placeholder('cellId')} and s.attempt = v.attempt and s.version = v.version
    and v.host is not null and p.device_owner like 'compute:%'
    and (p.binding_host <> v.host or p.status <> if(v.power_state in (1, 3), 'ACTIVE', 'DOWN'))`)

/** Afterwards the servers' ports say which host they are on and whether they work there. */
export async function bindPortsToHosts(
  tx: Tx,
  cellId: CellId,
  views: readonly InstanceView[],
): Promise<void> {
  if (views.length === 0) return
  const ordered = views.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
  const said = ordered.map(({ serverId, attempt, version, host, powerState }) => {
    return { serverId, attempt, version, host, powerState }
  })
  await tx.run(BIND_TO_HOSTS, { views: JSON.stringify(said), cellId })
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
