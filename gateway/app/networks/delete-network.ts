import { Failure } from '#common/errors.ts'
import { deleteNetworkRows, lockNetwork, portsOnNetwork } from '../../db/networks.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { refund } from './quotas.ts'
import { dropPoliciesOf } from './rbac-policies.ts'
import { holdRevision } from './revision.ts'
import { ownNetwork } from './visible.ts'

const NAMED_PORTS_MAX = 5

/** Afterwards the network and its subnets are gone. Throws `conflict` while ports are on it. */
export async function deleteNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const network = await ownNetwork(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    if (!(await lockNetwork(tx, id)))
      throw new Failure('not-found', `Network ${id} could not be found.`)
    await holdRevision(tx, 'networks', id, wantedRevision)
    const ports = await portsOnNetwork(tx, id, NAMED_PORTS_MAX)
    if (ports.length > 0)
      throw new Failure(
        'conflict',
        `Unable to complete operation on network ${id}. There are one or more ports still in use on the network, id for these ports is: ${ports.join(',')}.`,
      )
    const subnets = await subnetsOfNetworks(tx, [id])
    await dropPoliciesOf(tx, id)
    await deleteNetworkRows(tx, id)
    const owners = Map.groupBy(subnets, (subnet) => subnet.projectId)
    for (const [projectId, owned] of owners) refund(tx, projectId, 'subnet', owned.length)
    refund(tx, network.projectId, 'network')
  })
}
