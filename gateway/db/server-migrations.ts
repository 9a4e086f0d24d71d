import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import type { CellId } from '#common/ids.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { serverMigrations } from './schema/servers.ts'

// An equal version has the same content, and counts as newer. Only the cell that first reported a migration may
// change it.
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
    'held',
    'createdAt',
  ],
  {
    fixed: { updatedAt: sql`now(3)` },
    onDuplicate: sql`status = if(${isNewer}, values(status), status),
      dest_host = if(${isNewer}, values(dest_host), dest_host),
      held = if(${isNewer}, values(held), held),
      dest_node = if(${isNewer}, values(dest_node), dest_node),
      updated_at = if(${isNewer}, values(updated_at), updated_at),
      version = if(${isNewer}, values(version), version)`,
  },
)

/** Keeps migrations that are newer than those known; others change nothing. At most one view of each. */
export function queueMigrations(tx: Tx, cellId: CellId, views: readonly MigrationView[]): void {
  const rows = views.map(({ id, createdAt, held = null, ...view }) => ({
    ...view,
    held,
    uuid: id,
    cellId,
    createdAt: new Date(createdAt),
  }))
  INSERT.queue(tx, rows)
}
