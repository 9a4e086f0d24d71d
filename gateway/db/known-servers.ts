import { inArray } from 'drizzle-orm'
import { union } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'

/** Those of these servers that are, or were, anybody's here. */
export async function knownServers(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const [mapped, shown] = [instanceMappings.serverId, serverIndex.serverId]
  const rows = await union(
    db.orm
      .select({ id: mapped })
      .from(instanceMappings)
      .where(inArray(mapped, [...ids])),
    db.orm
      .select({ id: shown })
      .from(serverIndex)
      .where(inArray(shown, [...ids])),
  )
  return new Set(rows.map(({ id }) => id))
}
