import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

/** A ledger row that differs from what is promised. */
export interface QuotaDrift {
  readonly projectId: string
  readonly resource: string
  readonly ledger: number
  readonly promised: number
}

interface DriftRow {
  readonly owner: string
  readonly resource: string
  readonly ledger: number | string
  readonly promised: number | string
}

/**
 * One statement, so one snapshot: a promise and its charge commit together, so any difference is there for good.
 */
const DRIFT = sqlStatement(sql`
  select owner, resource, sum(ledger) as ledger, sum(promised) as promised from (
    select owner_id as owner, resource, used as ledger, 0 as promised from quota_usages
    where resource in ('instances', 'cores', 'ram', 'server_groups')
    union all select project_id, 'instances', 0, count(*) from instance_mappings
      where is_charged group by project_id
    union all select project_id, 'server_groups', 0, count(*) from server_groups group by project_id
    union all select project_id, 'cores', 0, sum(cores) from instance_mappings
      where is_charged group by project_id
    union all select project_id, 'ram', 0, sum(ram_mb) from instance_mappings
      where is_charged group by project_id
  ) sides group by owner, resource having ledger <> promised limit 1000`)

const SHIFT = sqlStatement(sql`
  insert into quota_usages (owner_id, resource, used)
  values (${sql.placeholder('projectId')}, ${sql.placeholder('resource')}, ${sql.placeholder('start')})
  on duplicate key update used = greatest(cast(used as signed) + ${sql.placeholder('delta')}, 0)`)

export async function findQuotaDrift(db: Executor): Promise<readonly QuotaDrift[]> {
  const rows = await db.rows<DriftRow>(DRIFT, {})
  return rows.map(({ owner, resource, ledger, promised }) => ({
    projectId: owner,
    resource,
    ledger: Number(ledger),
    promised: Number(promised),
  }))
}

/** Moves the ledger by the difference, which stays right whatever is charged meanwhile. */
export async function repairQuotaDrift(db: Executor, drift: QuotaDrift): Promise<void> {
  const { projectId, resource, ledger, promised } = drift
  const delta = promised - ledger
  await db.run(SHIFT, { projectId, resource, start: Math.max(delta, 0), delta })
}
