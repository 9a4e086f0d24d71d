import { and, eq, isNotNull, isNull, type SQL } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import { serverIndex } from './schema/servers.ts'

/** A server that takes something of a host. */
export interface Consumer {
  readonly serverId: string
  readonly hostId: string
  readonly projectId: string
  readonly userId: string
  readonly flavor: FlavorSnapshot
  /** What of it is of NUMA nodes of the host; null: nothing that its cell has chosen. */
  readonly numa: NumaAllocation | null
  /** Grows with every change its cell reports. */
  readonly version: number
}

/** The servers on a host; its name is what servers are indexed by, and is unique within a cell only. */
export function consumersOfHost(
  db: Executor,
  { name, hostId }: { readonly name: string; readonly hostId: string },
): Promise<readonly Consumer[]> {
  return select(db, and(eq(serverIndex.host, name), eq(serverIndex.hostId, hostId)))
}

/** The server with its host; undefined if it has none. */
export async function findConsumer(db: Executor, serverId: string): Promise<Consumer | undefined> {
  return (await select(db, eq(serverIndex.serverId, serverId)))[0]
}

/** The servers of a project, or of one user in it, that are on some host. */
export function consumersOfProject(
  db: Executor,
  projectId: string,
  userId: string | undefined,
): Promise<readonly Consumer[]> {
  const ofUser = userId === undefined ? undefined : eq(serverIndex.userId, userId)
  return select(db, and(eq(serverIndex.projectId, projectId), ofUser))
}

async function select(db: Executor, where: SQL | undefined): Promise<readonly Consumer[]> {
  const rows = await db.orm
    .select({
      serverId: serverIndex.serverId,
      hostId: serverIndex.hostId,
      projectId: serverIndex.projectId,
      userId: serverIndex.userId,
      flavor: serverIndex.flavor,
      numa: serverIndex.numa,
      version: serverIndex.version,
    })
    .from(serverIndex)
    .where(and(where, isNull(serverIndex.deletedAt), isNotNull(serverIndex.hostId)))
    .orderBy(serverIndex.serverId)
  return rows.map((row) => ({
    ...row,
    hostId: row.hostId ?? '',
    flavor: row.flavor as FlavorSnapshot,
    numa: row.numa as NumaAllocation | null,
  }))
}
