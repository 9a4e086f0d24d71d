import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { serverIndex } from './schema/servers.ts'

/** The resources of a project's servers on a host, by their flavors. Memory in MiB, disk in GiB. */
export interface ProjectUse {
  readonly projectId: string
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
}

const flavorSum = (...fields: readonly string[]) => {
  const parts = fields.map((field) => sql`json_value(${serverIndex.flavor}, ${`$.${field}`})`)
  return sql<number>`cast(sum(${sql.join(parts, sql` + `)}) as double)`
}

/** The flavors' amounts of the servers on a host, summed up for each project. */
export async function useByProject(db: Executor, hostId: string): Promise<readonly ProjectUse[]> {
  return db.orm
    .select({
      projectId: serverIndex.projectId,
      vcpus: flavorSum('vcpus'),
      memoryMb: flavorSum('memoryMb'),
      diskGb: flavorSum('rootGb', 'ephemeralGb'),
    })
    .from(serverIndex)
    .where(and(eq(serverIndex.hostId, hostId), isNull(serverIndex.deletedAt)))
    .groupBy(serverIndex.projectId)
    .orderBy(asc(serverIndex.projectId))
}
