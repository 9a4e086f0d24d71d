import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import type { CellId } from '#common/ids.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { serverMigrations } from './schema/servers.ts'

// An equal version shows the same, and counts as newer: the version may be assigned before the others are compared.
// Only the cell that first told of it tells more.
const isNewer = sql`(values(version) >= version and values(cell_id) = cell_id)`

const INSERT = rowsInsert(
  serverMigrations,
  [
    'uuid',
    'serverId',
    'cellId',
    'version',
    'type',
    'status',
    'sourceHost',
    'sourceNode',
    'destHost',
    'destNode',
    'oldFlavorId',
    'newFlavorId',
    'userId',
    'projectId',
    'createdAt',
  ],
  {
    fixed: { updatedAt: sql`now(3)` },
    onDuplicate: {
      status: sql`if(${isNewer}, values(status), status)`,
      destHost: sql`if(${isNewer}, values(dest_host), dest_host)`,
      destNode: sql`if(${isNewer}, values(dest_node), dest_node)`,
      updatedAt: sql`if(${isNewer}, values(updated_at), updated_at)`,
      version: sql`if(${isNewer}, values(version), version)`,
    },
  },
)

/** Keeps migrations that are newer than those known; others change nothing. At most one view of each. */
export function applyMigrations(tx: Tx, cellId: CellId, views: readonly MigrationView[]): void {
  const rows = views.map(({ id, createdAt, ...view }) => ({
    ...view,
    uuid: id,
    cellId,
    createdAt: new Date(createdAt),
  }))
  INSERT.queue(tx, rows)
}
