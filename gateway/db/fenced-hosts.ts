import { and, eq, inArray, isNull, max, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, HostId } from '#common/ids.ts'
import type { PolicySubject } from '../app/placement-policies/applied-policy.ts'
import { operations } from './schema/operations.ts'
import { requestSpecs, serverIndex } from './schema/servers.ts'

/** A host that its cell has powered off because it did not answer, with servers. */
export interface FencedHost {
  readonly hostId: HostId
  readonly name: string
  readonly cellId: CellId
  readonly fencedAt: Date
}

const FENCED = sqlStatement(sql`
  select h.host_id, h.name, h.cell_id, json_value(h.view, '$.fencedAt') as fenced_at
  from host_index h
  where json_value(h.view, '$.fencedAt') is not null and json_value(h.view, '$.isForcedDown') = 1
    and exists (select 1 from server_index s
      where s.host = h.name and s.host_id = h.host_id and s.deleted_at is null)`)

/** All fenced hosts whose servers no drain has begun to evacuate since. */
export async function hostsToEvacuate(db: Executor): Promise<readonly FencedHost[]> {
  const rows = await db.rows<{
    readonly host_id: HostId
    readonly name: string
    readonly cell_id: CellId
    readonly fenced_at: string
  }>(FENCED, {})
  if (rows.length === 0) return []
  const ids = rows.map(({ host_id }) => host_id)
  const drained = await db.orm
    .select({ hostId: operations.subjectId, fencedAt: max(operations.fencedAt) })
    .from(operations)
    .where(inArray(operations.subjectId, ids))
    .groupBy(operations.subjectId)
  const answered = new Map(drained.map((each) => [each.hostId, each.fencedAt?.getTime() ?? 0]))
  return rows
    .map(({ host_id: hostId, name, cell_id: cellId, fenced_at }) => {
      return { hostId, name, cellId, fencedAt: new Date(Number(fenced_at)) }
    })
    .filter(({ hostId, fencedAt }) => (answered.get(hostId) ?? 0) < fencedAt.getTime())
}

/** What decides which placement policies apply to the servers of a host. */
export async function policySubjectsOn(
  db: Executor,
  { name, hostId }: { readonly name: string; readonly hostId: string },
): Promise<ReadonlyMap<string, PolicySubject>> {
  const { serverId, projectId, flavorId, host } = serverIndex
  const rows = await db.orm
    .select({
      ...{ serverId, projectId, flavorId },
      hint: sql<string | null>`json_value(${requestSpecs.spec}, '$.policyHint')`,
    })
    .from(serverIndex)
    .leftJoin(requestSpecs, eq(requestSpecs.serverId, serverId))
    .where(and(eq(host, name), eq(serverIndex.hostId, hostId), isNull(serverIndex.deletedAt)))
  return new Map(
    rows.map((row) => {
      const { projectId: project, flavorId: flavor, hint } = row
      return [row.serverId, { projectId: project, flavorId: flavor, hint: hint ?? undefined }]
    }),
  )
}
