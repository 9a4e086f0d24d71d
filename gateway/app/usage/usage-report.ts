import type { Database } from '#common/db/database.ts'
import { projectNames } from '../../db/identity/projects.ts'
import { listOperatedCells } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { projectIdOf } from '../federation/project-quota.ts'
import type { Caller } from '../request-context.ts'
import type { Prices } from './prices.ts'
import { summedPeriod, usageKeys } from './sum-options.ts'
import { sumUsage, type UsageSum } from './sum-usage.ts'
import type { UsagePeriod } from './usage-period.ts'

interface ReportQuery {
  readonly start?: string
  readonly end?: string
  /** Some of the keys, separated by commas. */
  readonly by?: string
  /** An id or a name. */
  readonly project?: string
}

export interface UsageReport {
  readonly period: UsagePeriod
  /** Null: nothing has a price. */
  readonly currency: string | null
  /** The largest first. A name is null where it is not known here. */
  readonly sums: readonly (UsageSum & {
    readonly project: string | null
    readonly cell: string | null
  })[]
}

/**
 * What servers took in a period. Throws `invalid` for a period or a key that cannot be read, `not-found` for a missing
 * project, and `conflict` for a name that several have.
 */
export async function usageReport(
  deps: { readonly db: Database; readonly compute: Compute; readonly prices: Prices | undefined },
  caller: Pick<Caller, 'isExternal'>,
  query: ReportQuery,
): Promise<UsageReport> {
  const { db, compute, prices } = deps
  const period = summedPeriod(query, new Date(compute.clock.now()))
  const by = usageKeys(query.by)
  const projectId =
    query.project === undefined ? null : await projectIdOf(db, caller, query.project)
  const cells = await listOperatedCells(db, compute.cells)
  const cellNames = new Map<string, string>(cells.map(({ id, name }) => [id, name]))
  const sums = await sumUsage(compute, { period, by, projectId, cellNames, prices })
  const ids = sums.flatMap((each) => each.projectId ?? [])
  const projects = await projectNames(db, ids)
  const nameIn = (names: ReadonlyMap<string, string>, id: string | null) =>
    id === null ? null : (names.get(id) ?? null)
  return {
    period,
    currency: prices?.currency ?? null,
    sums: sums
      .toSorted((a, b) => b.cost - a.cost || b.vcpuHours - a.vcpuHours)
      .map((each) => ({
        ...each,
        project: nameIn(projects, each.projectId),
        cell: nameIn(cellNames, each.cellId),
      })),
  }
}
