import type { Executor } from '#common/db/database.ts'
import type { ServerChange } from '../../db/change-server.ts'
import { canonicalIp } from '../networks/ip.ts'
import type { Requester } from '../requester.ts'
import { editServer } from './edit-server.ts'
import type { ServerRecord } from './server-record.ts'
import { showServer } from './show-server.ts'

/**
 * Afterwards the server has the names and settings given; the guest is not told. Returns the server as it is then.
 * Possible in every state and for locked servers too, as in Nova. Throws `not-found`.
 */
export async function updateServer(
  db: Executor,
  requester: Requester,
  id: string,
  change: Omit<ServerChange, 'metadata' | 'tags'>,
): Promise<ServerRecord> {
  const isNothing = Object.keys(change).length === 0
  const { accessIPv6 } = change
  const respelled = accessIPv6 && { accessIPv6: canonicalIp(accessIPv6, 'accessIPv6') }
  await editServer(db, requester, id, () => (isNothing ? undefined : { ...change, ...respelled }))
  return showServer(db, requester, id)
}
