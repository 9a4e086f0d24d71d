import type { Trace } from '#openapi/wire/trace.ts'
import type { HostState } from './host-state.ts'
import type { HostTable } from './host-table.ts'
import { judgeHosts } from './judge-hosts.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { Scheduling } from './policy.ts'
import { rankHosts } from './rank-hosts.ts'

/** Hosts that fit, best first, and how they were found. */
export interface Selection {
  readonly hosts: readonly HostState[]
  readonly considered: number
  readonly filters: Trace['filters']
  readonly scores: Trace['scores']
  /** What filters threw, the first of each by its name. */
  readonly errors: ReadonlyMap<string, unknown>
}

/** The same hosts, request and scheduling give the same selection. Nothing is claimed here. */
export function selectHosts(
  table: HostTable,
  request: PlacementRequest,
  scheduling: Scheduling,
): Selection {
  const { fitting, filters, errors } = judgeHosts(table, request, scheduling)
  const best = rankHosts(table, fitting, request, scheduling)
  return {
    hosts: best.map(({ host }) => host),
    considered: table.states.length,
    filters: [...filters],
    scores: best.map(({ host, score, parts }) => ({ candidate: host.name, score, parts })),
    errors,
  }
}

/** The smallest number of instances that a filter allows on the host; undefined: no filter counts them. */
export function instancesMaxOf(
  host: HostState,
  { filters, filterSettings }: Scheduling,
): number | undefined {
  const limits = filters.flatMap((filter) => filter.instancesMax?.(host, filterSettings) ?? [])
  const smallest = Math.min(...limits)
  return Number.isFinite(smallest) ? smallest : undefined
}
