import type { HostKind, HostState } from './host-state.ts'
import type { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'

/** What operators set of weighers, the same for all hosts of a cell. */
export interface WeigherSettings {
  /** By name, how much each metric of a host counts. */
  readonly metricWeights: Readonly<Record<string, number>>
  /** The sum of a host that lacks one of these. */
  readonly weightOfUnavailable: number
  /** By name, how much each property of an image counts, and others not at all; empty: each counts 1. */
  readonly imagePropertyWeights: Readonly<Record<string, number>>
}

export interface Weigher {
  readonly name: string
  /**
   * A number for each host of the table; larger is better. They are scaled to 0…1 over the hosts compared before they are
   * weighted. Undefined: it makes no difference between hosts for this request.
   */
  readonly column: (
    table: HostTable,
    request: PlacementRequest,
    settings: WeigherSettings,
  ) => Float64Array | undefined
}

/** The numbers that `score` gives the hosts of the table. */
export function columnOf({ states }: HostTable, score: (host: HostState) => number): Float64Array {
  const column = new Float64Array(states.length)
  for (let place = 0; place < column.length; place += 1) column[place] = score(states[place]!)
  return column
}

/** The same of what hosts of a kind have in common; undefined: it is the same for all. */
export function columnOfKinds(
  { kinds, kindOf }: HostTable,
  score: (kind: HostKind) => number,
): Float64Array | undefined {
  const scores = kinds.map(score)
  if (scores.every((one) => one === scores[0])) return undefined
  const column = new Float64Array(kindOf.length)
  for (let place = 0; place < column.length; place += 1) column[place] = scores[kindOf[place]!]!
  return column
}
