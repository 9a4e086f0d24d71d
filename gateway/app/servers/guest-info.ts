import type { HostId } from '#common/ids.ts'
import type { GuestFigures } from '#openapi/wire/diagnostics.ts'
import type { WireTopology } from '#openapi/wire/lookup.ts'
import { clearGuestPassword, findGuestPassword } from '../../db/guest-passwords.ts'
import { findHost } from '../../db/host-list.ts'
import type { Compute } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import type { RequestContext } from '../request-context.ts'
import type { Requester } from '../requester.ts'
import { placedServer } from './boot/placed-server.ts'
import { showServer } from './list/show-server.ts'

/**
 * The usage of the guest so far. Throws `not-found`; `conflict` for a server in no cell, or whose guest is off;
 * `unavailable` while its cell is unreachable; `unsupported` if its host has no such figures.
 */
export async function serverDiagnostics(
  compute: Compute,
  context: RequestContext,
  id: string,
): Promise<GuestFigures> {
  const { server, cell } = await placedServer(compute, context, id)
  const ask = { serverId: server.id }
  return compute.askCell(cell, 'instance.diagnostics', ask, { work: context })
}

/**
 * Where the server's guest lies on its host; null: wherever that puts it. Throws `not-found`; `unavailable` while a host
 * that lays guests out cannot be asked.
 */
export async function serverTopology(
  { db, cells, askHost }: Pick<Compute, 'db' | 'cells' | 'askHost'>,
  context: RequestContext,
  id: string,
): Promise<WireTopology | null> {
  const { id: serverId, hostId } = await showServer(db, context, id)
  const host = hostId === null ? undefined : await findHost(db, hostId)
  if (host?.view.capabilities.includes('topology') !== true) return null
  const cell = reachable(cells.cell(host.cellId))
  const asked = { serverId }
  return (await askHost(cell, host.view.hostId as HostId, 'topology', asked, context)).topology
}

/** As much as a console keeps. */
const BYTES_MAX = 1_048_576

/**
 * The guest's console output, Latin-1 for its bytes; its last `lines` when given. Throws `not-found`; `conflict` for
 * a server in no cell; `unavailable` while its cell is unreachable.
 */
export async function consoleLog(
  compute: Compute,
  context: RequestContext,
  id: string,
  lines: number | undefined,
): Promise<string> {
  const { server, cell } = await placedServer(compute, context, id)
  const ask = { serverId: server.id, maxBytes: BYTES_MAX }
  const { output } = await compute.askCell(cell, 'instance.console-log', ask, { work: context })
  return lines === undefined ? output : lastLines(output, lines)
}

/** A newline at the end ends the last line and begins no other. */
function lastLines(text: string, count: number): string {
  const end = text.endsWith('\n') ? '\n' : ''
  const all = text.slice(0, text.length - end.length).split('\n')
  return count === 0 ? '' : all.slice(-count).join('\n') + end
}

/**
 * The password that the guest published, encrypted with its owner's key; null: it has published none. Throws
 * `not-found`.
 */
export async function serverPassword(
  { db }: Pick<Compute, 'db'>,
  requester: Requester,
  id: string,
): Promise<string | null> {
  return findGuestPassword(db, (await showServer(db, requester, id)).id)
}

/** Afterwards none is kept, and the guest may publish another; what it uses stays. Throws `not-found`. */
export async function clearServerPassword(
  { db }: Pick<Compute, 'db'>,
  requester: Requester,
  id: string,
): Promise<void> {
  const server = await showServer(db, requester, id)
  await db.transaction((tx) => clearGuestPassword(tx, server.id))
}
