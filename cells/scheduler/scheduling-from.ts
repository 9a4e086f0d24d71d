import type { FilterSettings } from './filter.ts'
import { FILTERS } from './filters.ts'
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
    filters: filters.map((name) => named(FILTERS, name, 'filter')),
    filterSettings,
    weighers: weighersOf(schedulingPolicy, weighers, random),
    weigherSettings,
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
