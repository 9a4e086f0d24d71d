import { type Measure, measure } from '#common/metrics/measure.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { ComputeDeps } from '../compute.ts'
import type { AppliedPolicy } from '../placement-policies/applied-policy.ts'
import { CELL_FILTERS, type CellRequest } from './cell-filters.ts'
import { cellScores, type Ranking, scoreOf } from './cell-scores.ts'
import { NARROWINGS } from './narrow-cells.ts'

export interface CellChoice {
  /** Undefined when no cell passed all filters. */
  readonly chosen: Cell | undefined
  /** The filter that removed the last candidates, when none is left. */
  readonly emptiedBy: string | undefined
  readonly trace: Trace
  readonly request: CellRequest
}

/** Where time and chance come from, so that a decision can be repeated. */
export interface ChoiceSources {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly ranking: Ranking
}

/** Choices by which servers are placed; dry runs are not among them. */
export const choiceMeasure: Measure<Trace> = measure('choice of a cell')

const EXAMPLES_MAX = 5
const SCORES_MAX = 10
/** Picks the cell to ask. Decides only; the same inputs and chance give the same choice. */
export function chooseCell(
  cells: readonly Cell[],
  request: CellRequest,
  { now, ranking }: ChoiceSources,
): CellChoice {
  const at = now()
  const { passed, filters } = narrow(filter(cells, request), request)
  const scores = cellScores(passed, request, ranking)
    .map((parts, nth) => ({
      candidate: passed[nth]!.name,
      score: scoreOf(parts),
      parts: { ...parts },
    }))
    .toSorted((a, b) => b.score - a.score)
  const best = scores[0]
  const chosen = passed.find((cell) => cell.name === best?.candidate)
  const trace: Trace = {
    at,
    level: 'cells',
    ...(request.policy !== null && appliedTo(request.policy)),
    considered: cells.length,
    filters,
    scores: scores.slice(0, SCORES_MAX),
    lostClaims: [],
    chosen: chosen?.name ?? null,
    tookMs: now() - at,
  }
  const emptiedBy = chosen === undefined ? filters.at(-1)?.name : undefined
  return { chosen, emptiedBy, trace, request }
}

/** What a cell reported is a second old: where no cell seems to have room, the cells themselves are asked. */
const HINTS: ReadonlySet<string> = new Set(['ServerGroupAntiAffinityFilter', 'CapacityFilter'])

/** As this gateway chooses: by its clock, its scheduling policy and its prices. */
export function choiceSources({
  clock,
  random,
  schedulingPolicy: policy,
  prices,
}: Pick<ComputeDeps, 'clock' | 'random' | 'schedulingPolicy' | 'prices'>): ChoiceSources {
  return { now: () => clock.now(), ranking: { policy, random, prices } }
}

interface Passed {
  readonly passed: readonly Cell[]
  readonly filters: Trace['filters']
}

/** Stops at the filter that removes the last candidate, as Nova does: later filters would see no candidates. */
function filter(cells: readonly Cell[], request: CellRequest): Passed {
  const filters: Trace['filters'] = []
  let passed = cells
  for (const [name, reasonOf] of Object.entries(CELL_FILTERS)) {
    const { left, result } = judge(name, passed, (cell) => reasonOf(cell, request))
    filters.push(result)
    if (HINTS.has(name) && left.length === 0) continue
    passed = left
    if (passed.length === 0) break
  }
  return { passed, filters }
}

/** Leaves the best of those that passed, if any did. */
function narrow({ passed, filters }: Passed, request: CellRequest): Passed {
  if (passed.length < 2) return { passed, filters }
  let best = passed
  const more: Trace['filters'] = []
  for (const [name, narrowing] of Object.entries(NARROWINGS)) {
    const reasonOf = narrowing(best, request)
    if (reasonOf === undefined) continue
    const { left, result } = judge(name, best, reasonOf)
    more.push(result)
    best = left
  }
  return { passed: best, filters: [...filters, ...more] }
}

function judge(
  name: string,
  cells: readonly Cell[],
  reasonOf: (cell: Cell) => string | undefined,
): { readonly left: readonly Cell[]; readonly result: Trace['filters'][number] } {
  const refused: { readonly candidate: string; readonly reason: string }[] = []
  // One pass: this runs for every filter and cell of every choice.
  const left = cells.filter((cell) => {
    const reason = reasonOf(cell)
    if (reason !== undefined) refused.push({ candidate: cell.name, reason })
    return reason === undefined
  })
  const examples = refused.slice(0, EXAMPLES_MAX)
  return { left, result: { name, refused: refused.length, examples } }
}

function appliedTo({ name, boundBy }: AppliedPolicy): Pick<Trace, 'policy'> {
  return { policy: { name, boundBy } }
}
