import type { Tx } from '#common/db/database.ts'
import { releaseAddresses } from '../../db/port-addresses.ts'
import { unbindGroups } from '../../db/port-inserts.ts'
import { deletePortRow, portsOfServer } from '../../db/ports.ts'
import { unbindPort } from '../../db/server-ports.ts'
import { showServerNics } from './machine-nics.ts'
import { refund } from './quotas.ts'

/** Afterwards the server does not have the port, and shows so: a port made for it is gone, a user's port is free. */
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
    if (!(await deletePortRow(tx, port))) return
    await releaseAddresses(tx, portId)
    await unbindGroups(tx, portId)
    refund(tx, port.projectId, 'port')
  } else {
    await unbindPort(tx, { portId, serverId, now })
  }
  await showServerNics(tx, serverId)
}
