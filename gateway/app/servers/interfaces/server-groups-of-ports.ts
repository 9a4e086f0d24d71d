import type { Executor } from '#common/db/database.ts'
import type { SecurityGroup } from '../../../db/network.ts'
import { findSecurityGroups } from '../../../db/security-groups.ts'
import { type ProxiedGroups, withRemotes } from '../../networks/proxied-groups.ts'
import type { Requester } from '../../requester.ts'
import { serverInterfaces } from './server-interfaces.ts'

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
