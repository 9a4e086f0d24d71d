import { and, eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { hostIndex } from './schema/cells.ts'

const FIND = statement(
  builder
    .select({ found: sql`1` })
    .from(hostIndex)
    .where(
      and(
        eq(hostIndex.cellId, sql.placeholder('cellId')),
        eq(hostIndex.hostId, sql.placeholder('hostId')),
        sql`json_contains(${hostIndex.view}, json_quote(${sql.placeholder('capability')}), '$.capabilities')`,
      ),
    ),
)

/** True when the host's driver was last known to have this optional part. */
export async function hostHasCapability(
  db: Executor,
  cellId: CellId,
  hostId: HostId,
  capability: string,
): Promise<boolean> {
  return (await db.rows(FIND, { cellId, hostId, capability })).length > 0
}
