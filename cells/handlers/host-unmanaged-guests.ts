import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

/** The guests of a host that belong to no server. */
export async function hostUnmanagedGuests(
  { conductor }: Cell,
  { hostId }: CellAsk<'host.unmanaged-guests'>,
  work: WorkContext,
): Promise<CellAnswer<'host.unmanaged-guests'>> {
  // The former name, which computes of the last release know.
  return askHost(conductor, hostId as HostId, 'strangers', {}, work)
}
