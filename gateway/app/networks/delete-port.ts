import { Failure } from '#common/errors.ts'
import { releaseAddresses } from '../../db/port-addresses.ts'
import { unbindGroups } from '../../db/port-inserts.ts'
import { deletePortRow } from '../../db/ports.ts'
import { StaleRevision } from '../../db/stale-revision.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { isServerPort } from './port-device.ts'
import { refund } from './quotas.ts'
import { holdRevision } from './revision.ts'
import { changeablePort } from './update-port.ts'

/** Afterwards the port is gone and its addresses are free. Throws `conflict` while a server has it. */
export async function deletePort(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const port = await changeablePort(networks, requester, id)
  // A guest that still uses the address must not share it with the next port.
  if (isServerPort(port))
    throw new Failure(
      'conflict',
      `Port ${id} is in use by server ${port.deviceId}: delete the server or detach the port first.`,
    )
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'ports', id, wantedRevision)
    if (!(await deletePortRow(tx, port))) throw new StaleRevision(`Port ${id}`)
    await releaseAddresses(tx, id)
    await unbindGroups(tx, id)
    refund(tx, port.projectId, 'port')
  })
}
