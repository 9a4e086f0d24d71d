import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

/** Afterwards those of these ports that the host has, which the answer names, let through what they say. */
export async function hostFilterPorts(
  { conductor }: Cell,
  { hostId, ports }: CellAsk<'host.filter-ports'>,
  work: WorkContext,
): Promise<CellAnswer<'host.filter-ports'>> {
  return askHost(conductor, hostId as HostId, 'filter-ports', { ports }, work)
}
