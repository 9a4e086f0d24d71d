import type { HostState } from './host-state.ts'
import type { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { Scheduling } from './policy.ts'

export interface RankedHost {
  readonly host: HostState
  readonly score: number
  /** By weigher; those that make no difference for the request are left out. */
  readonly parts: Readonly<Record<string, number>>
}

/** A column as it counts: (value - low) * factor. */
interface Weighted {
  readonly name: string
  readonly column: Float64Array
  readonly low: number
  readonly factor: number
}

/** More hosts than this are not tried, so more need no order. */
const CANDIDATES_MAX = 10

/** The best few of the first `count` places in `workspace.left`, best first; of equal scores the host that comes first by name. */
export function rankHosts(
  table: HostTable,
  count: number,
  request: PlacementRequest,
  { weighers, weigherSettings }: Pick<Scheduling, 'weighers' | 'weigherSettings'>,
): readonly RankedHost[] {
  const { left, scores } = table.workspace
  scores.fill(0, 0, count)
  const weighted: Weighted[] = []
  for (const { weigher, weight } of weighers) {
    const column = weigher.column(table, request, weigherSettings)
    if (column === undefined) continue
    const part = { name: weigher.name, column, ...scaled(column, left, count, weight) }
    addTo(scores, left, count, part)
    weighted.push(part)
  }
  return bestOf(scores, count).map((nth) => {
    const place = left[nth]!
    const partOf = ({ name, column, low, factor }: Weighted) => {
      return [name, rounded((column[place]! - low) * factor)] as const
    }
    return {
      host: table.states[place]!,
      score: rounded(scores[nth]!),
      parts: Object.fromEntries(weighted.map(partOf)),
    }
  })
}

/** How a column becomes 0…1 over these hosts, so that MiB and VCPUs can be added, and is then weighted. */
function scaled(column: Float64Array, left: Int32Array, count: number, weight: number) {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (let nth = 0; nth < count; nth += 1) {
    const value = column[left[nth]!]!
    if (value < low) low = value
    if (value > high) high = value
  }
  return { low, factor: high > low ? weight / (high - low) : 0 }
}

function addTo(
  scores: Float64Array,
  left: Int32Array,
  count: number,
  { column, low, factor }: Weighted,
): void {
  if (factor === 0) return
  for (let nth = 0; nth < count; nth += 1)
    scores[nth] = scores[nth]! + (column[left[nth]!]! - low) * factor
}

/** Kept in order while going through all once. */
function bestOf(scores: Float64Array, count: number): readonly number[] {
  const best: number[] = []
  for (let nth = 0; nth < count; nth += 1) {
    const score = scores[nth]!
    if (best.length === CANDIDATES_MAX && score <= scores[best[CANDIDATES_MAX - 1]!]!) continue
    let rank = best.length
    while (rank > 0 && score > scores[best[rank - 1]!]!) rank -= 1
    best.splice(rank, 0, nth)
    if (best.length > CANDIDATES_MAX) best.pop()
  }
  return best
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
