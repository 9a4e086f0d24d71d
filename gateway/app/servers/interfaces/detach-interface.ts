import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import { refuseAction } from '../acts/refuse-action.ts'
import { placedServer } from '../boot/placed-server.ts'
import { changeNic } from './change-nic.ts'
import { serverInterface } from './server-interfaces.ts'

/**
 * Afterwards the guest loses the NIC. Throws `not-found`, also for a port that is not the server's; `conflict` in a
 * state that forbids it; `unavailable` while its cell is unreachable; `unsupported` for what its host cannot do.
 */
export async function detachInterface(
  compute: Compute,
  context: RequestContext,
  id: string,
  portId: string,
): Promise<void> {
  await serverInterface(compute.db, context, id, portId)
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, 'detach-interface'),
  )
  await changeNic(compute, context, { server, cell, action: 'detach-interface', portId })
}
