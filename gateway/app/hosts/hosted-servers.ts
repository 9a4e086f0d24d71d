import type { Executor } from '#common/db/database.ts'
import { type HostedServer, type HostRecord, serversOnHosts } from '../../db/host-list.ts'

/** What a view needs to name the servers of hosts: nothing, where that was not asked for. */
export async function hostedServers(
  db: Executor,
  hosts: readonly HostRecord[],
  isAsked: boolean | undefined,
): Promise<{ readonly servers?: ReadonlyMap<string, readonly HostedServer[]> }> {
  if (isAsked !== true) return {}
  const ids = hosts.map(({ view }) => view.hostId)
  return { servers: await serversOnHosts(db, ids) }
}
