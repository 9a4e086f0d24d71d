import { and, asc, eq, isNull, notInArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import { serverIndex } from './schema/servers.ts'

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
