import { and, asc, count, eq, gt, isNull } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { HostRecord } from './host-list.ts'
import { serverIndex } from './schema/servers.ts'

export interface ServerOnHost {
  readonly id: string
  readonly name: string
  readonly projectId: string
  readonly vmState: VmState
  readonly taskState: Task | null
}

/** Servers on this host, and on none of its name in another cell, from after an id, by their ids. */
export async function serversOnHost(
  db: Executor,
  { view }: HostRecord,
  after: string,
  max: number,
): Promise<readonly ServerOnHost[]> {
  const { serverId: id, name, projectId, vmState, taskState, hostId, host, deletedAt } = serverIndex
  const rows = await db.orm
    .select({ id, name, projectId, vmState, taskState })
    .from(serverIndex)
    .where(and(eq(host, view.name), eq(hostId, view.hostId), isNull(deletedAt), gt(id, after)))
    .orderBy(asc(id))
    .limit(max)
  return rows.map((row) => ({
    ...row,
    vmState: row.vmState as VmState,
    taskState: row.taskState as Task | null,
  }))
}

/** How many servers are on this host. */
export async function countServersOnHost(db: Executor, { view }: HostRecord): Promise<number> {
  const { host, hostId, deletedAt } = serverIndex
  const [row] = await db.orm
    .select({ servers: count() })
    .from(serverIndex)
    .where(and(eq(host, view.name), eq(hostId, view.hostId), isNull(deletedAt)))
  return row?.servers ?? 0
}
