import type { Executor } from '#common/db/database.ts'
import type { ServerChange } from '../../../db/change-server.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Requester } from '../../requester.ts'
import { repinServer } from '../boot/repin-server.ts'
import type { FoundServer } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { editServer } from './edit-server.ts'

export interface ServerUpdate {
  readonly change: Omit<ServerChange, 'metadata' | 'tags'>
  /** The zone that the server must not leave; null: it may leave; undefined: as it was. */
  readonly pinnedZone: string | null | undefined
}

/**
 * Afterwards the server has the names and settings given; the guest is not told. Returns the server as it is then.
 * Possible in every state and for locked servers too, as in Nova. Throws `not-found`, and `conflict` for a zone that
 * it cannot be bound to, with nothing changed.
 */
export async function updateServer(
  db: Executor,
  requester: Requester,
  id: string,
  { change, pinnedZone }: ServerUpdate,
): Promise<FoundServer> {
  const isNothing = Object.keys(change).length === 0
  const { accessIPv6 } = change
  const respelled = accessIPv6 && { accessIPv6: canonicalIp(accessIPv6, 'accessIPv6') }
  if (pinnedZone !== undefined)
    await repinServer(db, await showServer(db, requester, id), pinnedZone)
  await editServer(db, requester, id, () => (isNothing ? undefined : { ...change, ...respelled }))
  return showServer(db, requester, id)
}
