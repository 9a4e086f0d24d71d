import { lastRefusal } from '../../app/cells/last-refusal.ts'
import type { Decision } from '../../app/federation/trace.ts'

/** Scheduling decisions, in their order, as the federation API shows them. */
export function decisionViews(decisions: readonly Decision[]) {
  const cells = new Map(
    decisions
      .filter(({ trace }) => trace.level === 'cells')
      .map(({ attempt, trace }) => [attempt, trace.chosen]),
  )
  return decisions.map(({ attempt, trace }) => ({
    attempt,
    level: trace.level,
    cell: trace.level === 'cells' ? null : (cells.get(attempt) ?? null),
    at: new Date(trace.at).toISOString(),
    policy: trace.policy ? { name: trace.policy.name, bound_by: trace.policy.boundBy } : null,
    considered: trace.considered,
    filters: trace.filters,
    scores: trace.scores,
    lost_claims: trace.lostClaims,
    chosen: trace.chosen,
    emptied_by: lastRefusal(trace)?.filter ?? null,
    took_ms: trace.tookMs,
  }))
}
