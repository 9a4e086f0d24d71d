import { cloudMarks } from '#common/cloud-marks.ts'
import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { findHost } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/** Which server it is in other clouds. */
export interface ServerChain {
  /** In those that it was sent down from; the nearest is the last. */
  readonly above: readonly string[]
  /** In those that it was sent down to, the nearest first, as far as they answer now. */
  readonly below: readonly string[]
}

export type ChainDeps = Pick<ComputeDeps, 'db' | 'cells' | 'askHost'>

/** The ids of a server in the clouds above and below. Clouds below that do not answer now are left out. */
export async function chainOf(
  deps: ChainDeps,
  work: WorkContext,
  server: ServerRecord,
): Promise<ServerChain> {
  const above = cloudMarks(server.metadata).map(({ serverId }) => serverId)
  return { above, below: await idsBelow(deps, work, server) }
}

async function idsBelow(
  { db, cells, askHost }: ChainDeps,
  work: WorkContext,
  { id, hostId, deletedAt }: ServerRecord,
): Promise<readonly string[]> {
  const host = hostId === null || deletedAt !== null ? undefined : await findHost(db, hostId)
  if (host?.view.capabilities.includes('below') !== true) return []
  try {
    const cell = reachable(cells.cell(host.cellId))
    const asked = { serverId: id }
    return (await askHost(cell, host.view.hostId as HostId, 'server-below', asked, work)).ids
  } catch (error) {
    if (isFailure(error)) return []
    throw error
  }
}
