import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { showMachineMacs } from '../../db/machine-nics.ts'
import { showServerNics } from './show-server-nics.ts'

/**
 * Afterwards ports that are NICs of machines show these NICs' MAC addresses, and so do their servers, as Neutron's ports do
 * on what ironic looks after. Of the cell's own servers, as it speaks of them in views that were applied.
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
