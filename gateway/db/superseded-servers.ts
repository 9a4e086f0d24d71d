import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { boundAttempts, SERVER_ATTEMPTS, type ServerAttempt } from './server-attempts.ts'

const OVER = sqlStatement(sql`
  select v.server_id, v.attempt from ${SERVER_ATTEMPTS}
  left join instance_mappings m on m.server_id = v.server_id
  left join server_index s on s.server_id = v.server_id
  where (m.server_id is null and s.deleted_at is not null)
    or (m.server_id is not null and m.attempt > v.attempt)`)

/**
 * The servers of a cell, at these attempts, that were deleted or given to a later attempt: these attempts will not
 * come back. Unknown servers are not among them.
 */
export async function supersededServers(
  db: Executor,
  servers: readonly ServerAttempt[],
): Promise<readonly ServerAttempt[]> {
  if (servers.length === 0) return []
  const values = { servers: boundAttempts(servers) }
  const rows = await db.rows<{ server_id: string; attempt: number }>(OVER, values)
  return rows.map((row) => ({ serverId: row.server_id, attempt: row.attempt }))
}
