import { Failure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'
import { findNetworks, lockNetwork, updateNetwork as writeNetwork } from '../../db/networks.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { type NetworkFields, withFields } from './create-networks.ts'
import type { Networks } from './networks.ts'
import { shareWithEveryone } from './rbac-policies.ts'
import { holdRevision } from './revision.ts'
import { ownNetwork } from './visible.ts'

/** Afterwards the network has these fields. Throws `conflict` when it cannot stop being shared. */
export function updateNetwork(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    fields: NetworkFields,
    wantedRevision?: number | undefined,
  ]
): Promise<Network> {
  return retryStale(networks.clock, () => changeNetwork(networks, ...asked))
}

async function changeNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
  fields: NetworkFields,
  wantedRevision?: number,
): Promise<Network> {
  const before = await ownNetwork(networks, requester, id)
  const after = withFields(networks, requester, before, fields)
  await networks.db.transaction(async (tx) => {
    await lockNetwork(tx, id)
    await holdRevision(tx, 'networks', id, wantedRevision)
    if (before.isShared !== after.isShared) await shareWithEveryone(tx, before, after.isShared)
    await writeNetwork(tx, after, new Date(networks.clock.now()))
  })
  const [changed] = await findNetworks(networks.db, [id])
  if (changed === undefined) throw new Failure('not-found', `Network ${id} could not be found.`)
  return changed
}
