import { and, asc, eq, inArray, isNull, notInArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import { portSecurityGroups, ports, securityGroups } from './schema/network.ts'
import { floatingIps } from './schema/routing.ts'
import { requestSpecs, serverIndex } from './schema/servers.ts'

/** The names of a host's servers that have been built, in the order of their ids. */
export async function labelsOnHost(
  db: Executor,
  { hostId, name }: Pick<HostView, 'hostId' | 'name'>,
): Promise<readonly ServerLabels[]> {
  const rows = await db.orm
    .select({
      serverId: serverIndex.serverId,
      name: serverIndex.name,
      hostname: serverIndex.hostname,
      description: serverIndex.description,
      metadata: serverIndex.metadata,
      tags: serverIndex.tags,
      diskConfig: serverIndex.diskConfig,
      accessIPv4: serverIndex.accessIPv4,
      accessIPv6: serverIndex.accessIPv6,
    })
    .from(serverIndex)
    .where(
      and(
        eq(serverIndex.host, name),
        eq(serverIndex.hostId, hostId),
        isNull(serverIndex.deletedAt),
        notInArray(serverIndex.vmState, ['building', 'deleted']),
      ),
    )
    .orderBy(asc(serverIndex.serverId))
  return rows as ServerLabels[]
}

/** The same, each with what the metadata service tells its guest besides. */
export async function guestLabelsOnHost(
  db: Executor,
  host: Pick<HostView, 'hostId' | 'name'>,
): Promise<readonly ServerLabels[]> {
  const labels = await labelsOnHost(db, host)
  const ids = labels.map(({ serverId }) => serverId)
  if (ids.length === 0) return labels
  const groups = await db.orm
    .selectDistinct({ serverId: ports.deviceId, name: securityGroups.name })
    .from(ports)
    .innerJoin(portSecurityGroups, eq(portSecurityGroups.portId, ports.id))
    .innerJoin(securityGroups, eq(securityGroups.id, portSecurityGroups.groupId))
    .where(inArray(ports.deviceId, ids))
    .orderBy(asc(securityGroups.name))
  const floating = await db.orm
    .select({ serverId: ports.deviceId, address: floatingIps.address })
    .from(floatingIps)
    .innerJoin(ports, eq(ports.id, floatingIps.fixedPortId))
    .where(inArray(ports.deviceId, ids))
    .orderBy(asc(floatingIps.address))
  const clears = await db.orm
    .select({ serverId: requestSpecs.serverId, clears: requestSpecs.passwordClears })
    .from(requestSpecs)
    .where(inArray(requestSpecs.serverId, ids))
  const clearsOf = new Map(clears.map((row) => [row.serverId, row.clears]))
  return labels.map((server) => {
    const isOf = (row: { readonly serverId: string }) => row.serverId === server.serverId
    const guest = {
      securityGroups: groups.filter(isOf).map(({ name }) => name),
      publicIpv4: floating.find(isOf)?.address ?? null,
      passwordClears: clearsOf.get(server.serverId) ?? 0,
    }
    return { ...server, guest }
  })
}
