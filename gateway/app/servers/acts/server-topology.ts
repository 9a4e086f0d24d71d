import type { HostId } from '#common/ids.ts'
import type { WireTopology } from '#openapi/wire/lookup.ts'
import { findHost } from '../../../db/host-list.ts'
import type { Compute } from '../../compute.ts'
import { reachable } from '../../hosts/host-state.ts'
import type { RequestContext } from '../../request-context.ts'
import { showServer } from '../list/show-server.ts'

/**
 * Where the server's guest lies on its host; null: wherever that puts it. Throws `not-found`; `unavailable` while a host
 * that lays guests out cannot be asked.
 */
export async function serverTopology(
  { db, cells, askHost }: Pick<Compute, 'db' | 'cells' | 'askHost'>,
  context: RequestContext,
  id: string,
): Promise<WireTopology | null> {
  const { id: serverId, hostId } = await showServer(db, context, id)
  const host = hostId === null ? undefined : await findHost(db, hostId)
  if (host?.view.capabilities.includes('topology') !== true) return null
  const cell = reachable(cells.cell(host.cellId))
  const asked = { serverId }
  return (await askHost(cell, host.view.hostId as HostId, 'topology', asked, context)).topology
}
