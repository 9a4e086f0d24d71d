import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { hostIndex } from './schema/cells.ts'

const now = sql`now(3)`
// An equal version shows the same, and counts as newer: the version may be assigned before the others are compared.
const isNewer = sql`values(version) >= version`

const UPSERT = rowsInsert(hostIndex, ['cellId', 'hostId', 'name', 'version', 'view'], {
  fixed: { createdAt: now, updatedAt: now },
  onDuplicate: {
    name: sql`if(${isNewer}, values(name), name)`,
    view: sql`if(${isNewer}, values(view), view)`,
    updatedAt: sql`if(${isNewer}, values(updated_at), updated_at)`,
    version: sql`greatest(values(version), version)`,
  },
})

const FORGET_VERSIONS = sqlStatement(
  sql`update host_index set version = 0 where cell_id = ${sql.placeholder('cellId')}`,
)

const WITH_HOST = statement(
  builder
    .select({ cell_id: hostIndex.cellId })
    .from(hostIndex)
    .where(eq(hostIndex.name, sql.placeholder('name'))),
)

/** Keeps views of a cell's hosts that are newer than those known; others change nothing. At most one per host. */
export function applyHostViews(tx: Tx, cellId: CellId, views: readonly HostView[]): Promise<void> {
  const rows = views.map((view) => {
    const { hostId, name, version } = view
    return { cellId, hostId, name, version, view }
  })
  return UPSERT.run(tx, rows)
}

/** Afterwards any view of the cell's hosts is newer: its database was restored, and its versions began again. */
export async function forgetHostVersions(tx: Tx, cellId: CellId): Promise<void> {
  await tx.run(FORGET_VERSIONS, { cellId })
}

/** The cells that have a host of this name. */
export async function cellsWithHost(db: Executor, name: string): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ cell_id: string }>(WITH_HOST, { name })
  return new Set(rows.map((row) => row.cell_id))
}
