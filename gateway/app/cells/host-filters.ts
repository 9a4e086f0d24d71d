import { isCapability, isOfAggregates } from '#common/extra-spec-scopes.ts'
import type { Cell } from '../../cell-client/cell.ts'

/** Filters of hosts that run only where a cell's operator named them, and on which a request may depend. */
const NAMED: ReadonlySet<string> = new Set(['JsonFilter', 'SimpleCIDRAffinityFilter'])

/** True where hosts of the cell are held to what the filter stands for; a cell that has not reported leaves no usual one out. */
export function runsHostFilter({ summary }: Pick<Cell, 'summary'>, name: string): boolean {
  return NAMED.has(name)
    ? summary?.optionalFilters?.includes(name) === true
    : summary?.filtersLeftOut?.includes(name) !== true
}

/** The usual filters of hosts on which a server depends. */
export function usualFiltersFor({
  extraSpecs,
  isBeside,
}: {
  readonly extraSpecs: Readonly<Record<string, string>>
  /** It is to share a host with another server. */
  readonly isBeside: boolean
}): readonly string[] {
  const keys = Object.keys(extraSpecs)
  return [
    ...(isBeside ? ['SameHostFilter'] : []),
    ...(keys.some(isCapability) ? ['ComputeCapabilitiesFilter'] : []),
    ...(keys.some(isOfAggregates) ? ['AggregateInstanceExtraSpecsFilter'] : []),
  ]
}
