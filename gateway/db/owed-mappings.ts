import { and, asc, eq, isNull } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import { instanceMappings } from './schema/servers.ts'

/** Servers given up by their cell that no saga has taken up yet, longest waiting first. */
export async function listNotBuilt(
  db: Executor,
  max: number,
): Promise<readonly { readonly serverId: InstanceId; readonly attempt: number }[]> {
  const rows = await db.orm
    .select({ serverId: instanceMappings.serverId, attempt: instanceMappings.attempt })
    .from(instanceMappings)
    .where(
      and(
        eq(instanceMappings.isNotBuilt, true),
        eq(instanceMappings.isDeleting, false),
        isNull(instanceMappings.sagaId),
      ),
    )
    .orderBy(asc(instanceMappings.changedAt))
    .limit(max)
  return rows.map((row) => ({ ...row, serverId: row.serverId as InstanceId }))
}
