import { and, eq, not, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { isAbleTo, isThere } from './host-list.ts'
import { hostIndex } from './schema/cells.ts'

const FIND = statement(
  builder
    .select({ found: sql`1` })
    .from(hostIndex)
    .where(
      and(
        eq(hostIndex.cellId, sql.placeholder('cellId')),
        eq(hostIndex.hostId, sql.placeholder('hostId')),
        isAbleTo(sql`${sql.placeholder('capability')}`),
      ),
    ),
)

const FIND_UNFILTERED = statement(
  builder
    .select({ found: sql`1` })
    .from(hostIndex)
    .where(
      and(
        eq(hostIndex.cellId, sql.placeholder('cellId')),
        eq(hostIndex.hostId, sql.placeholder('hostId')),
        sql`json_contains(${hostIndex.view}, 'false', '$.simulated')`,
        not(isAbleTo(sql`'firewall'`)),
      ),
    ),
)

const FIND_ANY = statement(
  builder
    .select({ found: sql`1` })
    .from(hostIndex)
    .where(and(isThere, isAbleTo(sql`${sql.placeholder('capability')}`)))
    .limit(1),
)

/** True when any host of any cell was last known to have this optional part, whether it is up or not. */
export async function isAnyHostAbleTo(db: Executor, capability: string): Promise<boolean> {
  return (await db.rows(FIND_ANY, { capability })).length > 0
}

/** True for a host with real guests on which security groups have no effect, as far as it is known. */
export async function hostFiltersNothing(
  db: Executor,
  cellId: CellId,
  hostId: HostId,
): Promise<boolean> {
  return (await db.rows(FIND_UNFILTERED, { cellId, hostId })).length > 0
}

/** True when the host's driver was last known to have this optional part. */
export async function hostHasCapability(
  db: Executor,
  cellId: CellId,
  hostId: HostId,
  capability: string,
): Promise<boolean> {
  return (await db.rows(FIND, { cellId, hostId, capability })).length > 0
}
