import { Failure } from '#common/errors.ts'
import { lockNetwork } from '../../db/networks.ts'
import { deleteSubnetRow, portsOnSubnet } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { refund } from './quotas.ts'
import { holdRevision } from './revision.ts'
import { ownSubnet } from './visible.ts'

/** Afterwards the subnet is gone. Throws `conflict` while a port has an address of the subnet. */
export async function deleteSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const subnet = await ownSubnet(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    // Ports are placed under a shared lock on their network.
    await lockNetwork(tx, subnet.networkId)
    await holdRevision(tx, 'subnets', id, wantedRevision)
    if ((await portsOnSubnet(tx, id, 1)).length > 0)
      throw new Failure(
        'conflict',
        `Unable to complete operation on subnet ${id}: One or more ports have an IP allocation from this subnet.`,
      )
    if (!(await deleteSubnetRow(tx, id)))
      throw new Failure('not-found', `Subnet ${id} could not be found.`)
    refund(tx, subnet.projectId, 'subnet')
  })
}
