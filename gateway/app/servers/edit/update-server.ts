import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { changeServer, type ServerChange } from '../../../db/change-server.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Requester } from '../../requester.ts'
import { repinServer } from '../boot/repin-server.ts'
import type { FoundServer, ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'

export interface ServerUpdate {
  readonly change: Omit<ServerChange, 'metadata' | 'tags'>
  /** The zone that the server must not leave; null: it may leave; undefined: as it was. */
  readonly pinnedZone: string | null | undefined
}

/**
 * Afterwards the server has these names and settings; the guest is not notified. Returns the server in its new state.
 * Possible in every state and for locked servers too, as in Nova. Throws `not-found`, and `conflict` for a zone to
 * which the server cannot be bound, with nothing changed.
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

/** Decides on the server as it is now; undefined: nothing has to be changed. Throws for a change that is not allowed. */
type ServerDecision = (
  server: ServerRecord,
) => ServerChange | undefined | Promise<ServerChange | undefined>

/** Each lost race was won by another request, so this many must have hit one server at the same time. */
const TRIES_MAX = 16

/**
 * Afterwards the server is as decided, on the state it had when that was written; it is shown so at once. Returns
 * the change, undefined when there was nothing to change. Throws `not-found`, and `conflict` when others keep
 * changing the server. `write` is false when the server has changed since it was read.
 */
export async function editServer(
  db: Executor,
  requester: Requester,
  id: string,
  decide: ServerDecision,
  write = (server: ServerRecord, change: ServerChange) => changeServer(db, server, change),
): Promise<ServerChange | undefined> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const server = await showServer(db, requester, id)
    const change = await decide(server)
    if (change === undefined || (await write(server, change))) return change
  }
  throw new Failure('conflict', `Instance ${id} is being changed by others. Please try again.`)
}
