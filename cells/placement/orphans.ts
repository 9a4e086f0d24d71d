import { and, eq, isNull, lt, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { instances } from '../db/schema/instances.ts'
import { allocations } from '../db/schema/placement.ts'
import { serverMigrations } from '../db/schema/server-migrations.ts'

const p = sql.placeholder

const ORPHANS = statement(
  builder
    .selectDistinct({ consumer_id: allocations.consumerId })
    .from(allocations)
    .leftJoin(serverMigrations, eq(serverMigrations.id, allocations.consumerId))
    .leftJoin(
      instances,
      sql`${instances.serverId} = coalesce(${serverMigrations.serverId}, ${allocations.consumerId})`,
    )
    .where(and(isNull(instances.serverId), lt(allocations.createdAt, p('before'))))
    .limit(p('max')),
)

/** At most `max` consumers that hold something since before a time, though the cell has no such server, nor a migration of one. */
export async function orphanedConsumers(
  db: Executor,
  before: Date,
  max: number,
): Promise<readonly string[]> {
  const rows = await db.rows<{ consumer_id: string }>(ORPHANS, { before, max: BigInt(max) })
  return rows.map((row) => row.consumer_id)
}
