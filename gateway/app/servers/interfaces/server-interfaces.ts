import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Port, SecurityGroup } from '../../../db/network.ts'
import { portsOfServer } from '../../../db/ports.ts'
import { findSecurityGroups } from '../../../db/security-groups.ts'
import { type ProxiedGroups, withRemotes } from '../../networks/proxied-groups.ts'
import type { Requester } from '../../requester.ts'
import type { ServerRecord } from '../list/server-record.ts'
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

/** The server's addresses on the network of this name, under it. Throws `not-found`, also for a network it is not on. */
export async function addressesOnNetwork(
  db: Executor,
  requester: Requester,
  id: string,
  network: string,
): Promise<ServerRecord['addresses']> {
  const { addresses } = await showServer(db, requester, id)
  if (!Object.hasOwn(addresses, network))
    throw new Failure('not-found', 'Instance is not a member of specified network')
  return { [network]: addresses[network]! }
}

/** The groups of the server's ports, by name. Throws `not-found`. */
export async function serverGroups(
  db: Executor,
  requester: Requester,
  id: string,
): Promise<ProxiedGroups> {
  const ports = await serverInterfaces(db, requester, id)
  const ids = [...new Set(ports.flatMap((port) => port.securityGroupIds))]
  return withRemotes(db, (await findSecurityGroups(db, ids)).toSorted(byName))
}

function byName(a: SecurityGroup, b: SecurityGroup): number {
  return a.name.localeCompare(b.name) || a.id.localeCompare(b.id)
}
