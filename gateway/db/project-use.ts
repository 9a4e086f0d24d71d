import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

/** What a project has in a cell. */
export interface CellUse {
  readonly servers: number
  readonly vcpus: number
  readonly memoryMb: number
}

const USED = sqlStatement(sql`
  select cell_id, count(*) as servers, sum(cores) as vcpus, sum(ram_mb) as memory_mb
  from instance_mappings
  where project_id = ${sql.placeholder('projectId')} and is_charged = true and cell_id is not null
    and server_id <> ${sql.placeholder('without')}
  group by cell_id`)

/**
 * What a project has in each cell, counted each time; cells in which it has nothing are absent. `without`: a server that
 * does not count. Exact within a transaction that has charged the project, because others wait for that.
 */
export async function projectUse(
  db: Executor,
  projectId: string,
  without = '',
): Promise<ReadonlyMap<string, CellUse>> {
  const rows = await db.rows<{
    cell_id: string
    servers: number | string
    vcpus: number | string
    memory_mb: number | string
  }>(USED, { projectId, without })
  return new Map(
    rows.map((row) => [
      row.cell_id,
      {
        servers: Number(row.servers),
        vcpus: Number(row.vcpus),
        memoryMb: Number(row.memory_mb),
      },
    ]),
  )
}
