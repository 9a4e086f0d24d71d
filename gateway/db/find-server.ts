import { eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { FoundServer } from '../app/servers/server-record.ts'
import { serverGroupMembers } from './schema/server-groups.ts'
import { serverIndex } from './schema/servers.ts'
import { SERVER_COLUMNS, type ServerRow, serverRecordOf } from './server-row.ts'

const FIND = statement(
  builder
    .select({ ...SERVER_COLUMNS, group_id: serverGroupMembers.groupId })
    .from(serverIndex)
    .leftJoin(serverGroupMembers, eq(serverGroupMembers.serverId, serverIndex.serverId))
    .where(eq(serverIndex.serverId, sql.placeholder('serverId'))),
)

/** The server's last known view, also of one deleted within the retention time; undefined when there is none. */
export async function findServer(db: Executor, serverId: string): Promise<FoundServer | undefined> {
  const [row] = await db.rows<ServerRow & { readonly group_id: string | null }>(FIND, { serverId })
  return row === undefined ? undefined : { ...serverRecordOf(row), groupId: row.group_id }
}
