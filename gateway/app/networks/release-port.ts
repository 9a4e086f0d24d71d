import type { Tx } from '#common/db/database.ts'
import { disassociateLost } from '../../db/floating-ips.ts'
import type { Port } from '../../db/network.ts'
import { releaseAddresses } from '../../db/port-addresses.ts'
import { unbindGroups } from '../../db/port-inserts.ts'
import { deletePortRow, portsOfServer } from '../../db/ports.ts'
import { unbindPort } from '../../db/server-ports.ts'
import { showServerNics } from './machine-nics.ts'
import { refund } from './quotas.ts'
import { NO_PROJECT } from './service-ports.ts'

/**
 * Afterwards the port is gone, with its addresses, its groups and its quota, and its floating IPs are free. False if it
 * was gone, or its device has changed since it was read.
 */
export async function removePort(
  tx: Tx,
  port: Pick<Port, 'id' | 'deviceId' | 'projectId'>,
): Promise<boolean> {
  if (!(await deletePortRow(tx, port))) return false
  await releaseAddresses(tx, port.id)
  await disassociateLost(tx, port.id)
  await unbindGroups(tx, port.id)
  if (port.projectId !== NO_PROJECT) refund(tx, port.projectId, 'port')
  return true
}

/**
 * Afterwards the server does not have the port, and does not show it: a port made for the server is gone, a user's port
 * is free.
 */
export async function releasePort(
  tx: Tx,
  serverId: string,
  portId: string,
  now: Date,
): Promise<void> {
  const port = (await portsOfServer(tx, serverId)).find(({ id }) => id === portId)
  if (port === undefined) return
  if (port.isBootMade) {
    // The server's delete may have taken it meanwhile, with its share of the quota.
    if (!(await removePort(tx, port))) return
  } else {
    await unbindPort(tx, { portId, serverId, now })
  }
  await showServerNics(tx, serverId)
}
