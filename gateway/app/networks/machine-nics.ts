import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { showMachineMacs } from '../../db/machine-nics.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import { showNics } from '../../db/server-ports.ts'
import { serverAddresses } from './nic-views.ts'
import { serverNics } from './server-ports.ts'

/**
 * Afterwards ports that are NICs of machines show these NICs' MAC addresses, and so do their servers, like Neutron's
 * ports with ironic. Only for the cell's own servers, from views that were applied.
 */
export async function showMachineNics(
  tx: Tx,
  cellId: CellId,
  views: readonly InstanceView[],
): Promise<void> {
  for (const view of views) {
    if (view.machineNics === undefined) continue
    if (await showMachineMacs(tx, cellId, view)) await showServerNics(tx, view.serverId)
  }
}

/** Afterwards the server shows the addresses and security groups that its ports have now. */
export async function showServerNics(tx: Tx, serverId: string): Promise<void> {
  const nics = await serverNics(tx, serverId)
  const ids = [...new Set(nics.flatMap(({ port }) => port.securityGroupIds))]
  const groups = await findSecurityGroups(tx, ids)
  const names = [...new Set(groups.map(({ name }) => name))].sort()
  await showNics(tx, serverId, { addresses: serverAddresses(nics), securityGroups: names })
}
