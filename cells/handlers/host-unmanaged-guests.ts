import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

/** Guests on a host that are nobody's. */
export async function hostUnmanagedGuests(
  { conductor }: Cell,
  { hostId }: CellAsk<'host.strangers'>,
  work: WorkContext,
): Promise<CellAnswer<'host.strangers'>> {
  return askHost(conductor, hostId as HostId, 'strangers', {}, work)
}
