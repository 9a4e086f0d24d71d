import type { ServerRun } from '../../db/server-runs.ts'
import type { UsagePeriod } from './usage-period.ts'

/** The usage of a server in a period. */
export interface ServerUsage extends ServerRun {
  /** Within the period. */
  readonly hours: number
  /** Seconds from its start to its end, or until now. */
  readonly uptime: number
  readonly diskGb: number
}

const HOUR_MS = 3_600_000

/** Those of a run within the period; 0 for a run outside it. */
export function hoursWithin(
  { startedAt, endedAt }: Pick<ServerRun, 'startedAt' | 'endedAt'>,
  { from, to }: UsagePeriod,
): number {
  const start = Math.max(startedAt.getTime(), from.getTime())
  const end = Math.min(endedAt?.getTime() ?? to.getTime(), to.getTime())
  return Math.max(end - start, 0) / HOUR_MS
}

/** The part of a run that is within the period. */
export function serverUsage(run: ServerRun, period: UsagePeriod, now: Date): ServerUsage {
  const { startedAt, endedAt, flavor } = run
  const alive = (endedAt ?? now).getTime() - startedAt.getTime()
  return {
    ...run,
    hours: hoursWithin(run, period),
    uptime: Math.max(Math.trunc(alive / 1_000), 0),
    diskGb: flavor.rootGb + flavor.ephemeralGb,
  }
}
