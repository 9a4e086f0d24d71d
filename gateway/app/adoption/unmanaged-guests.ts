import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'

/**
 * Guests on a host that are nobody's, as its backend shows them now. Throws `conflict` for a host that can take none in,
 * `unavailable` while it cannot be asked.
 */
export async function listUnmanagedGuests(
  { cells, askCell }: Pick<ComputeDeps, 'cells' | 'askCell'>,
  work: WorkContext,
  { cellId, view }: HostRecord,
): Promise<readonly UnmanagedGuest[]> {
  if (!view.capabilities.includes('adopt'))
    throw new Failure('conflict', `Host ${view.name} (${view.driver}) takes in no guests.`)
  const cell = cells.cell(cellId)
  if (cell?.isReachable !== true)
    throw new Failure('unavailable', `The cell of host ${view.name} is unreachable.`)
  const { guests } = await askCell(cell, 'host.strangers', { hostId: view.hostId }, { work })
  return guests
}
