import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

/** Afterwards the host's backend shows those of these servers that it has, which the answer names, as they are called now. */
export async function hostLabel(
  { conductor }: Cell,
  { hostId, servers }: CellAsk<'host.label'>,
  work: WorkContext,
): Promise<CellAnswer<'host.label'>> {
  return askHost(conductor, hostId as HostId, 'label', { servers }, work)
}

/** Afterwards those of these ports that the host has, which the answer names, let through what they say. */
export async function hostFilterPorts(
  { conductor }: Cell,
  { hostId, ports }: CellAsk<'host.filter-ports'>,
  work: WorkContext,
): Promise<CellAnswer<'host.filter-ports'>> {
  return askHost(conductor, hostId as HostId, 'filter-ports', { ports }, work)
}
