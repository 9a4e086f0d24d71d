import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { ports } from './schema/network.ts'
import { ascii } from './server-attempts.ts'

/** True while a port is the machine's NIC with this MAC address. */
export async function isMachineMac(db: Executor, macAddress: string): Promise<boolean> {
  const rows = await db.orm
    .select({ id: ports.id })
    .from(ports)
    .where(eq(ports.machineMac, macAddress))
    .limit(1)
  return rows.length > 0
}

/** Only for views that the index shows, and of a cell's own servers, as where ports are bound to hosts. */
const SHOW = sqlStatement(sql`
  update json_table(${sql.placeholder('nics')}, '$[*]' columns (
    port_id ${ascii(36)} path '$.portId', mac_address ${ascii(17)} path '$.macAddress')) v
  straight_join ports p on p.id = v.port_id
  straight_join server_index s on s.server_id = p.device_id
  set p.machine_mac = v.mac_address, p.updated_at = now(3),
    p.revision_number = p.revision_number + 1
  where s.server_id = ${sql.placeholder('serverId')} and s.cell_id = ${sql.placeholder('cellId')}
    and s.attempt = ${sql.placeholder('attempt')} and s.version = ${sql.placeholder('version')}
    and p.device_owner like 'compute:%' and not p.machine_mac <=> v.mac_address`)

/** Afterwards the server's ports show the MAC addresses of the NICs behind them; true when some showed others. */
export async function showMachineMacs(
  tx: Tx,
  cellId: CellId,
  { serverId, attempt, version, machineNics = [] }: InstanceView,
): Promise<boolean> {
  const nics = JSON.stringify(machineNics)
  const { affectedRows } = await tx.run(SHOW, { serverId, cellId, attempt, version, nics })
  return affectedRows > 0
}
