import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import { builder, statement } from '#common/db/statement.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { SERVER_COLUMNS } from '#gateway/db/server-row.ts'

/** The product's own reads: the same columns of the same rows by the same indexes. */
export const READ_SQL = {
  one: statement(
    builder
      .select(SERVER_COLUMNS)
      .from(serverIndex)
      .where(eq(serverIndex.serverId, sql.placeholder('id'))),
  ),
  hundred: statement(
    builder
      .select(SERVER_COLUMNS)
      .from(serverIndex)
      .where(
        and(eq(serverIndex.projectId, sql.placeholder('project')), isNull(serverIndex.deletedAt)),
      )
      .orderBy(desc(serverIndex.createdAt), desc(serverIndex.serverId))
      .limit(sql.placeholder('limit')),
  ),
} as const
