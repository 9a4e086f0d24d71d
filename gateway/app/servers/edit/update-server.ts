import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { changeServer, type ServerChange } from '../../../db/change-server.ts'
import { StaleRevision } from '../../../db/stale-revision.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Requester } from '../../requester.ts'
import { retryStale } from '../../retry-stale.ts'
import { repinServer } from '../boot/repin-server.ts'
import type { FoundServer, ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'

export interface EditDeps {
  readonly db: Executor
  readonly clock: Clock
}

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
  deps: EditDeps,
  requester: Requester,
  id: string,
  { change, pinnedZone }: ServerUpdate,
): Promise<FoundServer> {
  const { db } = deps
  const isNothing = Object.keys(change).length === 0
  const { accessIPv6 } = change
  const respelled = accessIPv6 && { accessIPv6: canonicalIp(accessIPv6, 'accessIPv6') }
  if (pinnedZone !== undefined)
    await repinServer(db, await showServer(db, requester, id), pinnedZone)
  await editServer(deps, requester, id, () => (isNothing ? undefined : { ...change, ...respelled }))
  return showServer(db, requester, id)
}

/** Decides on the server as it is now; undefined: nothing has to be changed. Throws for a change that is not allowed. */
type ServerDecision = (
  server: ServerRecord,
) => ServerChange | undefined | Promise<ServerChange | undefined>

/**
 * Afterwards the server is as decided, on the state it had when that was written; it is shown so at once. Returns
 * the change, undefined when there was nothing to change. Throws `not-found`, and `conflict` when others keep
 * changing the server. `write` is false when the server has changed since it was read.
 */
export async function editServer(
  { db, clock }: EditDeps,
  requester: Requester,
  id: string,
  decide: ServerDecision,
  write = (server: ServerRecord, change: ServerChange) => changeServer(db, server, change),
): Promise<ServerChange | undefined> {
  return retryStale(clock, async () => {
    const server = await showServer(db, requester, id)
    const change = await decide(server)
    if (change !== undefined && !(await write(server, change)))
      throw new StaleRevision(`Instance ${id}`)
    return change
  })
}
