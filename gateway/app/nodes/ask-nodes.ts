import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { DirectAnswer, DirectAsk } from '#openapi/wire/direct.ts'
import type { NodeOperation } from '#openapi/wire/node.ts'
import type { ComputeDeps } from '../compute.ts'
import { findOperatedHost } from '../federation/hosts.ts'
import { reachable } from '../hosts/reachable.ts'

export type NodeDeps = Pick<ComputeDeps, 'db' | 'cells' | 'askHost'>

/**
 * Asks a host about its machines, of which it alone knows. Throws `not-found`; `unavailable` while it cannot be asked;
 * `unsupported` for one that keeps no machines; and what the host throws.
 */
export async function askNodes<O extends NodeOperation>(
  { db, cells, askHost }: NodeDeps,
  work: WorkContext,
  hostId: string,
  operation: O,
  ask: DirectAsk<O>,
): Promise<DirectAnswer<O>> {
  const { cellId, view } = await findOperatedHost(db, hostId)
  const cell = reachable(cells.cell(cellId))
  return askHost(cell, view.hostId as HostId, operation, ask, work)
}
