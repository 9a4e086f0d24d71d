import type { Decision } from '../../app/federation/trace.ts'

/** A scheduling decision as the federation API shows it. */
export function decisionView({ attempt, trace }: Decision) {
  return {
    attempt,
    level: trace.level,
    at: new Date(trace.at).toISOString(),
    considered: trace.considered,
    filters: trace.filters,
    scores: trace.scores,
    lost_claims: trace.lostClaims,
    chosen: trace.chosen,
    took_ms: trace.tookMs,
  }
}
