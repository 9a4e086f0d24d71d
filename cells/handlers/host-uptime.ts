import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

/** How long the host has been up. Throws `unsupported` where its driver cannot tell, `unavailable` when it is silent. */
export function hostUptime(
  { conductor }: Cell,
  { hostId }: CellAsk<'host.uptime'>,
  work: WorkContext,
): Promise<CellAnswer<'host.uptime'>> {
  return askHost(conductor, hostId as HostId, 'uptime', {}, work)
}
