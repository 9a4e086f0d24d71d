import type { GuestFigures } from '#openapi/wire/diagnostics.ts'
import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import { placedServer } from '../boot/placed-server.ts'

/**
 * What the guest has used so far. Throws `not-found`; `conflict` for a server in no cell, or whose guest is off;
 * `unavailable` while its cell is unreachable; `unsupported` for what its host cannot count.
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
