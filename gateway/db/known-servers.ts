import { and, eq, inArray } from 'drizzle-orm'
import { union } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { instanceMappings, serverIndex } from './schema/servers.ts'

/** Those of these servers that exist or existed in any project here. */
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

/** Those of these servers that are a project's; of any where it is undefined. */
export async function serversOfProject(
  db: Executor,
  projectId: string | undefined,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const { serverId, projectId: owner } = serverIndex
  const rows = await db.orm
    .select({ id: serverId })
    .from(serverIndex)
    .where(
      and(inArray(serverId, [...ids]), projectId === undefined ? undefined : eq(owner, projectId)),
    )
  return new Set(rows.map(({ id }) => id))
}
