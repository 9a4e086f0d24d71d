import type { Trace } from '#openapi/wire/trace.ts'
import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { Scheduling, WeightedWeigher } from './policy.ts'

/** Hosts that fit, best first, and how they were found. */
export interface Selection {
  readonly hosts: readonly HostState[]
  readonly considered: number
  readonly filters: Trace['filters']
  readonly scores: Trace['scores']
  /** What filters threw, the first of each by its name. */
  readonly errors: ReadonlyMap<string, unknown>
}

/** More hosts than this are not tried, so more need no order. */
const CANDIDATES_MAX = 10
/** Named refusals per filter: enough to see the pattern. */
const EXAMPLES_MAX = 3

/** Pure: the same hosts, request and scheduling give the same selection. Nothing is claimed here. */
export function selectHosts(
  hosts: readonly HostState[],
  request: PlacementRequest,
  scheduling: Scheduling,
): Selection {
  const refusals = scheduling.filters.map(({ name }) => ({
    name,
    refused: 0,
    examples: [] as { candidate: string; reason: string }[],
  }))
  const errors = new Map<string, unknown>()
  const fitting = hosts.filter((host) =>
    scheduling.filters.every((filter, index) => {
      const reason = refusalOf(filter, host, request, scheduling.filterSettings, errors)
      if (reason === undefined) return true
      const refusal = refusals[index]!
      refusal.refused += 1
      if (refusal.examples.length < EXAMPLES_MAX)
        refusal.examples.push({ candidate: host.name, reason })
      return false
    }),
  )
  const best = bestHosts(fitting, request, scheduling.weighers)
  return {
    hosts: best.map(({ host }) => host),
    considered: hosts.length,
    filters: refusals,
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

/** A filter that throws cannot tell that the host fits: it has refused it, and its error is the reason. */
function refusalOf(
  filter: Scheduling['filters'][number],
  host: HostState,
  request: PlacementRequest,
  settings: Scheduling['filterSettings'],
  errors: Map<string, unknown>,
): string | undefined {
  try {
    return filter.refuse(host, request, settings)
  } catch (error) {
    const { name } = filter
    if (!errors.has(name)) errors.set(name, error)
    return `could not be judged: ${name} failed with "${error instanceof Error ? error.message : String(error)}"`
  }
}

/** The best few, kept in order while going through all once. Equal scores: by name, so that the order is stable. */
function bestHosts(
  hosts: readonly HostState[],
  request: PlacementRequest,
  weighers: readonly WeightedWeigher[],
): readonly { host: HostState; score: number; parts: Record<string, number> }[] {
  const columns = weighers.map((weighted) => weightedScores(hosts, request, weighted))
  const best: { readonly host: HostState; readonly index: number; readonly score: number }[] = []
  for (const [index, host] of hosts.entries()) {
    let score = 0
    for (const column of columns) score += column[index]!
    const place = best.findIndex(
      (other) => score > other.score || (score === other.score && host.name < other.host.name),
    )
    if (place === -1 && best.length === CANDIDATES_MAX) continue
    best.splice(place === -1 ? best.length : place, 0, { host, index, score })
    if (best.length > CANDIDATES_MAX) best.pop()
  }
  return best.map(({ host, index, score }) => ({
    host,
    score: rounded(score),
    parts: Object.fromEntries(
      weighers.map(({ weigher }, column) => [weigher.name, rounded(columns[column]![index]!)]),
    ),
  }))
}

/** Scaled to 0…1 over these hosts, so that MiB and VCPUs can be added, then weighted. */
function weightedScores(
  hosts: readonly HostState[],
  request: PlacementRequest,
  { weigher, weight }: WeightedWeigher,
): readonly number[] {
  const raw = hosts.map((host) => weigher.score(host, request))
  const low = raw.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const high = raw.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const span = high - low
  return raw.map((value) => (span === 0 ? 0 : (weight * (value - low)) / span))
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
