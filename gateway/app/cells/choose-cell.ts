import { type Measure, measure } from '#common/metrics/measure.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { AppliedPolicy } from '../placement-policies/applied-policy.ts'
import { CELL_FILTERS, type CellRequest } from './cell-filters.ts'
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
  /** From 0 to below 1; breaks ties. */
  readonly random: () => number
}

/** Choices by which servers are placed; dry runs are not among them. */
export const choiceMeasure: Measure<Trace> = measure('choice of a cell')

const EXAMPLES_MAX = 5
const SCORES_MAX = 10
/** Free room differs by less than this between cells that are as good as each other. */
const TIE = 0.01
/** More than any amount of free memory: where its group is, a server goes if it can. */
const NEAR_GROUP = 1e12

/** Picks the cell to ask. Decides only; the same inputs and chance give the same choice. */
export function chooseCell(
  cells: readonly Cell[],
  request: CellRequest,
  { now, random }: ChoiceSources,
): CellChoice {
  const at = now()
  const { passed, filters } = narrow(filter(cells, request), request)
  const scores = passed
    .map((cell) => score(cell, request, random))
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

/** The room that a cell reported is a second old: where no cell seems to have enough, the cells themselves are asked. */
const HINTS: ReadonlySet<string> = new Set(['CapacityFilter'])

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
  const judged = cells.map((cell) => ({ cell, reason: reasonOf(cell) }))
  const refused = judged.flatMap(({ cell, reason }) =>
    reason === undefined ? [] : [{ candidate: cell.name, reason }],
  )
  const left = judged.filter(({ reason }) => reason === undefined).map(({ cell }) => cell)
  const examples = refused.slice(0, EXAMPLES_MAX)
  return { left, result: { name, refused: refused.length, examples } }
}

function appliedTo({ name, boundBy }: AppliedPolicy): Pick<Trace, 'policy'> {
  return { policy: { name, boundBy } }
}

function score(cell: Cell, { group }: CellRequest, random: () => number): Trace['scores'][number] {
  const free = cell.summary!.free.memoryMb - cell.reserved.memoryMb
  const hosts = Math.max(cell.summary!.hostsUp, 1)
  // Per host, so that a large cell that is nearly full does not draw everything.
  const parts = {
    freeMemoryMbPerHost: (free / hosts) * cell.weight,
    chance: random() * TIE,
    ...(group?.cellId === cell.id && { group: NEAR_GROUP }),
  }
  const sum = Object.values(parts).reduce((total, part) => total + part, 0)
  return { candidate: cell.name, score: sum, parts }
}
