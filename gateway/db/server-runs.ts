import { and, asc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { serverIndex } from './schema/servers.ts'

/** When a server ran, and how large it was. */
export interface ServerRun {
  readonly id: string
  readonly projectId: string
  /** Null: it was in none. */
  readonly cellId: string | null
  readonly name: string
  readonly flavor: FlavorSnapshot
  readonly vmState: VmState
  readonly startedAt: Date
  /** Null: it is still there. */
  readonly endedAt: Date | null
}

export interface RunQuery {
  /** Null: those of all projects. */
  readonly projectId: string | null
  readonly from: Date
  readonly to: Date
  /** Id of the last server of the previous page. */
  readonly marker: string | undefined
  readonly limit: number
}

const endedAt = sql<Date | null>`coalesce(${serverIndex.terminatedAt}, ${serverIndex.deletedAt})`

/** Servers that had started before the end of the window and were not gone at its beginning, by id. */
export async function listServerRuns(
  db: Executor,
  { projectId, from, to, marker, limit }: RunQuery,
): Promise<readonly ServerRun[]> {
  const rows = await db.orm
    .select({
      id: serverIndex.serverId,
      projectId: serverIndex.projectId,
      cellId: serverIndex.cellId,
      name: serverIndex.name,
      flavor: serverIndex.flavor,
      vmState: serverIndex.vmState,
      startedAt: serverIndex.launchedAt,
      terminatedAt: serverIndex.terminatedAt,
      deletedAt: serverIndex.deletedAt,
    })
    .from(serverIndex)
    .where(
      and(
        projectId === null ? undefined : eq(serverIndex.projectId, projectId),
        lt(serverIndex.launchedAt, to),
        or(isNull(endedAt), gt(endedAt, from)),
        marker === undefined ? undefined : gt(serverIndex.serverId, marker),
      ),
    )
    .orderBy(asc(serverIndex.serverId))
    .limit(limit)
  return rows.map(({ terminatedAt, deletedAt, ...row }) => ({
    ...row,
    flavor: row.flavor as FlavorSnapshot,
    vmState: row.vmState as VmState,
    startedAt: row.startedAt!,
    endedAt: terminatedAt ?? deletedAt,
  }))
}
