import type { Trace } from '#openapi/wire/trace.ts'
import type { Filter, RoomFilter } from './filter.ts'
import type { HostState } from './host-state.ts'
import type { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { Scheduling } from './policy.ts'

type Refusals = Trace['filters'][number]

/** Named refusals per filter: enough to see the pattern. */
const EXAMPLES_MAX = 3

/** What the filters left of a table, and how many hosts each refused. */
export interface Judgement {
  /** How many hosts fit: their places begin `workspace.left` of the table. */
  readonly fitting: number
  readonly filters: readonly Refusals[]
  /** What filters threw, the first of each by its name. */
  readonly errors: ReadonlyMap<string, unknown>
}

/** Asks the filters in their order, each about the hosts that those before it have left. */
export function judgeHosts(
  table: HostTable,
  request: PlacementRequest,
  { filters, filterSettings }: Scheduling,
): Judgement {
  const errors = new Map<string, unknown>()
  const { left } = table.workspace
  let count = left.length
  for (let place = 0; place < count; place += 1) left[place] = place
  const refusals = filters.map((filter): Refusals => {
    if (count === 0 || filter.concerns?.(request) === false)
      return { name: filter.name, refused: 0, examples: [] }
    const reasonOf = (host: HostState) =>
      reasonFrom(filter.name, errors, () => filter.refuse(host, request, filterSettings))
    const before = count
    const first: number[] = []
    count = keep(table, count, first, { filter, request, reasonOf })
    const examples = first.map((place) => {
      const host = table.states[place]!
      return { candidate: host.name, reason: reasonOf(host) ?? '' }
    })
    return { name: filter.name, refused: before - count, examples }
  })
  return { fitting: count, filters: refusals, errors }
}

interface Judge {
  readonly filter: Filter
  readonly request: PlacementRequest
  readonly reasonOf: (host: HostState) => string | undefined
}

/** Afterwards the places of the hosts that pass come first; their number. `first` gets places of some that do not. */
function keep(table: HostTable, count: number, first: number[], judge: Judge): number {
  switch (judge.filter.by) {
    case 'room':
      return keepWithRoom(table, count, first, { filter: judge.filter, request: judge.request })
    case 'kind':
      return keepKinds(table, count, first, judge)
    case undefined:
      return keepHosts(table, count, first, judge)
  }
}

// Each filter that can, runs through numbers alone: these loops are what a decision over thousands of hosts consists of.

function keepWithRoom(
  { mostOfOne, workspace: { left } }: HostTable,
  count: number,
  first: number[],
  { filter, request }: { readonly filter: RoomFilter; readonly request: PlacementRequest },
): number {
  const column = mostOfOne[filter.room]
  const needed = filter.needed(request)
  let kept = 0
  for (let nth = 0; nth < count; nth += 1) {
    const place = left[nth]!
    if (column[place]! >= needed) {
      left[kept] = place
      kept += 1
    } else if (first.length < EXAMPLES_MAX) first.push(place)
  }
  return kept
}

function keepKinds(
  { kinds, kindOf, workspace: { left } }: HostTable,
  count: number,
  first: number[],
  { reasonOf }: Judge,
): number {
  const passes = kinds.map((kind) => reasonOf(kind) === undefined)
  if (!passes.includes(false)) return count
  let kept = 0
  for (let nth = 0; nth < count; nth += 1) {
    const place = left[nth]!
    if (passes[kindOf[place]!] === true) {
      left[kept] = place
      kept += 1
    } else if (first.length < EXAMPLES_MAX) first.push(place)
  }
  return kept
}

function keepHosts(
  { states, workspace: { left } }: HostTable,
  count: number,
  first: number[],
  { reasonOf }: Judge,
): number {
  let kept = 0
  for (let nth = 0; nth < count; nth += 1) {
    const place = left[nth]!
    if (reasonOf(states[place]!) === undefined) {
      left[kept] = place
      kept += 1
    } else if (first.length < EXAMPLES_MAX) first.push(place)
  }
  return kept
}

/** A filter that throws cannot tell that the host fits: it has refused it, and its error is the reason. */
function reasonFrom(
  name: string,
  errors: Map<string, unknown>,
  refuse: () => string | undefined,
): string | undefined {
  try {
    return refuse()
  } catch (error) {
    if (!errors.has(name)) errors.set(name, error)
    return `could not be judged: ${name} failed with "${error instanceof Error ? error.message : String(error)}"`
  }
}
