import { and, eq, inArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { portAddresses, portSecurityGroups, ports } from './schema/network.ts'
import { serverIndex } from './schema/servers.ts'
import { IS_SERVER_PORT } from './server-ports.ts'

export interface HostedPort {
  readonly portId: string
  readonly serverId: string
  readonly hostId: string
}

/** The ports of the servers on these hosts. */
export async function portsOnHosts(
  db: Executor,
  hostIds: readonly string[],
): Promise<readonly HostedPort[]> {
  if (hostIds.length === 0) return []
  const rows = await db.orm
    .select({ portId: ports.id, serverId: serverIndex.serverId, hostId: serverIndex.hostId })
    .from(serverIndex)
    .innerJoin(ports, eq(ports.deviceId, serverIndex.serverId))
    .where(and(inArray(serverIndex.hostId, [...hostIds]), IS_SERVER_PORT))
  return rows.flatMap(({ portId, serverId, hostId }) => {
    return hostId === null ? [] : [{ portId, serverId, hostId }]
  })
}

/** The addresses of the ports that have each of these groups, ascending as text. */
export async function addressesOfGroups(
  db: Executor,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (groupIds.length === 0) return new Map()
  const rows = await db.orm
    .select({ groupId: portSecurityGroups.groupId, address: portAddresses.address })
    .from(portSecurityGroups)
    .innerJoin(portAddresses, eq(portAddresses.portId, portSecurityGroups.portId))
    .where(inArray(portSecurityGroups.groupId, [...groupIds]))
    .orderBy(portSecurityGroups.groupId, portAddresses.address)
  const byGroup = Map.groupBy(rows, (row) => row.groupId)
  return new Map([...byGroup].map(([id, found]) => [id, found.map(({ address }) => address)]))
}
