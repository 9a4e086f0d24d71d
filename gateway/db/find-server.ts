import { eq, inArray } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder } from '#common/db/statement.ts'
import type { FoundServer } from '../app/servers/list/server-record.ts'
import { serverGroupMembers } from './schema/server-groups.ts'
import { serverIndex } from './schema/servers.ts'
import { SERVER_COLUMNS, type ServerRow, serverRecordOf } from './server-row.ts'

const SERVERS = new Lookup<ServerRow & { readonly group_id: string | null }>(
  (ids) =>
    builder
      .select({ ...SERVER_COLUMNS, group_id: serverGroupMembers.groupId })
      .from(serverIndex)
      .leftJoin(serverGroupMembers, eq(serverGroupMembers.serverId, serverIndex.serverId))
      .where(inArray(serverIndex.serverId, [...ids])),
  ({ server_id }) => server_id,
)

/** The server's last known view, also of one deleted within the retention time; undefined when there is none. */
export async function findServer(db: Executor, serverId: string): Promise<FoundServer | undefined> {
  const row = await SERVERS.one(db, serverId)
  return row === undefined ? undefined : { ...serverRecordOf(row), groupId: row.group_id }
}
