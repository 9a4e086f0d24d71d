import type { Filter, FilterSettings, KindFilter } from './filter.ts'
import { FILTERS, OTHER_NAMES } from './filters.ts'
import { type Scheduling, type SchedulingPolicy, weighersOf } from './policy.ts'
import type { WeigherSettings } from './weigher.ts'
import { WEIGHERS } from './weighers.ts'

export interface SchedulingChoice {
  readonly schedulingPolicy: SchedulingPolicy
  readonly filters: readonly string[]
  readonly filterSettings: FilterSettings
  readonly weights: Readonly<Record<string, number>>
  readonly weigherSettings: WeigherSettings
}

/** The scheduling an operator chose by names; throws for a filter or weigher that does not exist. */
export function schedulingFrom(choice: SchedulingChoice, random: () => number): Scheduling {
  const { schedulingPolicy, filters, filterSettings, weights, weigherSettings } = choice
  const weighers = Object.entries(weights)
    .filter(([, weight]) => weight !== 0)
    .map(([name, weight]) => ({ weigher: named(WEIGHERS, name, 'weigher'), weight }))
  return {
    filters: filtersFrom(filters),
    filterSettings,
    weighers: weighersOf(schedulingPolicy, weighers, random),
    weigherSettings,
  }
}

/**
 * The usual filters that do not run because an operator named others, and without which a request may ask for something
 * that has no effect: it is refused then.
 */
export function filtersLeftOut({ filters }: Pick<Scheduling, 'filters'>): readonly string[] {
  return leftOutOf(new Set(filters)).map(({ name }) => name)
}

/** Those that run always or are named, and in place of usual ones that are left out what refuses the requests that depend on them. */
function filtersFrom(names: readonly string[]): readonly Filter[] {
  const known = names.flatMap((name) =>
    Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name]! : name,
  )
  const chosen = new Set(known.map((name) => named(FILTERS, name, 'filter')))
  const unnamed = FILTERS.filter((filter) => filter.runs === undefined && !chosen.has(filter))
  return [...unnamed, ...chosen, ...leftOutOf(chosen).map(refusing)]
}

function leftOutOf(filters: ReadonlySet<Filter>): readonly Filter[] {
  return FILTERS.filter(
    (filter) => filter.runs === 'usual' && filter.concerns !== undefined && !filters.has(filter),
  )
}

function refusing({ name, concerns }: Filter): KindFilter {
  return {
    name,
    by: 'kind',
    ...(concerns && { concerns }),
    refuse: () =>
      'is in a cell that does not run this filter, on which the request depends: CELL_SCHEDULING_FILTERS leaves it out',
  }
}

/** True where a filter or a weigher compares how much the hosts have to do. */
export function asksForIoOps({ filters, weighers }: Scheduling): boolean {
  return (
    filters.some(({ name }) => name === 'IoOpsFilter') ||
    weighers.some(({ weigher }) => weigher.name === 'io_ops')
  )
}

/** True where a weigher compares which images the servers of hosts have. */
export function asksForImageProperties({ weighers }: Scheduling): boolean {
  return weighers.some(({ weigher }) => weigher.name === 'image_props')
}

function named<T extends { readonly name: string }>(
  all: readonly T[],
  name: string,
  what: string,
): T {
  const hit = all.find((one) => one.name === name)
  if (hit !== undefined) return hit
  const known = all.map((one) => one.name).join(', ')
  throw new Error(`There is no ${what} '${name}'; there are ${known}`)
}
