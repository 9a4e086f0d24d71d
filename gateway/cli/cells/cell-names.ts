import type { Cell } from './cell-listing.ts'

/** By id. */
export function cellNames(cells: readonly Cell[]): ReadonlyMap<string, string> {
  return new Map(cells.map(({ id, name }) => [id, name]))
}
