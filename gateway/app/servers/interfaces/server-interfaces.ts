import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Port } from '../../../db/network.ts'
import { portsOfServer } from '../../../db/ports.ts'
import type { Requester } from '../../requester.ts'
import { showServer } from '../list/show-server.ts'

/** The server's ports in the order of its NICs. Throws `not-found`. */
export async function serverInterfaces(
  db: Executor,
  requester: Requester,
  id: string,
): Promise<readonly Port[]> {
  await showServer(db, requester, id)
  return portsOfServer(db, id)
}

/** One of the server's ports; throws `not-found` where it has no such one. */
export async function serverInterface(
  db: Executor,
  requester: Requester,
  id: string,
  portId: string,
): Promise<Port> {
  const ports = await serverInterfaces(db, requester, id)
  const port = ports.find((each) => each.id === portId)
  if (port === undefined)
    throw new Failure('not-found', `Instance ${id} does not have a port with id ${portId}`)
  return port
}
