import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findServer } from '../../db/find-server.ts'
import { listServerRuns } from '../../db/server-runs.ts'
import type { Caller } from '../request-context.ts'
import { type ServerUsage, serverUsage } from './server-usage.ts'
import { type UsagePeriod, usagePeriod } from './usage-period.ts'

export interface UsageQuery {
  readonly start?: string
  readonly end?: string
  readonly marker?: string
}

export interface UsageDeps {
  readonly db: Executor
  readonly clock: Clock
}

export interface UsagePage {
  readonly period: UsagePeriod
  /** By id. */
  readonly servers: readonly ServerUsage[]
}

/**
 * A page of what servers that ran in a period took, those since deleted included for as long as they are remembered.
 * `projectId` null: those of all projects. Throws `invalid` for a period or marker that cannot be read.
 */
export async function listUsage(
  { db, clock }: UsageDeps,
  projectId: string | null,
  query: UsageQuery,
  limit: number,
): Promise<UsagePage> {
  const now = new Date(clock.now())
  const period = usagePeriod(query, now)
  await checkMarker(db, query.marker)
  const runs = await listServerRuns(db, { projectId, ...period, marker: query.marker, limit })
  return { period, servers: runs.map((run) => serverUsage(run, period, now)) }
}

/** Throws `forbidden` for another project's usage, except to administrators. */
export function checkUsageProject(
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  projectId: string,
): void {
  if (!caller.isAdmin && caller.projectId !== projectId)
    throw new Failure('forbidden', 'Only administrators may see the usage of another project.')
}

async function checkMarker(db: Executor, marker: string | undefined): Promise<void> {
  if (marker === undefined) return
  if (!isUuid(marker) || (await findServer(db, marker)) === undefined)
    throw new Failure('invalid', `Marker ${marker} could not be found.`)
}
