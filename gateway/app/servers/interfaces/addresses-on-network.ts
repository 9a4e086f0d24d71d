import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Requester } from '../../requester.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'

/** The server's addresses on the network of this name, under it. Throws `not-found`, also for a network it is not on. */
export async function addressesOnNetwork(
  db: Executor,
  requester: Requester,
  id: string,
  network: string,
): Promise<ServerRecord['addresses']> {
  const { addresses } = await showServer(db, requester, id)
  if (!Object.hasOwn(addresses, network))
    throw new Failure('not-found', 'Instance is not a member of specified network')
  return { [network]: addresses[network]! }
}
