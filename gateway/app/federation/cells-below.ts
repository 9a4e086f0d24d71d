import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { WireCellsBelow } from '#openapi/wire/lookup.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'

/**
 * The cells of the cloud that is this host, as far as that cloud shows them to the account that the host has there. Throws
 * `conflict` for a host that is no cloud, `unavailable` while the host or its cloud does not answer.
 */
export async function cellsBelow(
  { cells, askHost }: Pick<ComputeDeps, 'cells' | 'askHost'>,
  work: WorkContext,
  { cellId, view }: HostRecord,
): Promise<WireCellsBelow> {
  if (!view.capabilities.includes('below'))
    throw new Failure(
      'conflict',
      `Host ${view.name} (${view.driver}) is no cloud and has no cells.`,
    )
  const cell = reachable(cells.cell(cellId))
  return askHost(cell, view.hostId as HostId, 'cells-below', {}, work)
}
