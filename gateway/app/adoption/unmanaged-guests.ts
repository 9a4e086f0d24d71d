import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'

/**
 * The guests of a host that belong to no server, as its backend shows them now. Throws `conflict` where the host's driver
 * cannot adopt guests, `unavailable` while the host cannot be asked.
 */
export async function listUnmanagedGuests(
  { cells, askCell }: Pick<ComputeDeps, 'cells' | 'askCell'>,
  work: WorkContext,
  { cellId, view }: HostRecord,
): Promise<readonly UnmanagedGuest[]> {
  if (!view.capabilities.includes('adopt'))
    throw new Failure('conflict', `Host ${view.name} (${view.driver}) cannot adopt guests.`)
  const cell = cells.cell(cellId)
  if (cell?.isReachable !== true)
    throw new Failure('unavailable', `The cell of host ${view.name} is unreachable.`)
  // The former name, which cells of the last release know.
  const { guests } = await askCell(cell, 'host.strangers', { hostId: view.hostId }, { work })
  return guests
}
