import type { Operator } from '../operator.ts'
import type { Cell } from './cell-listing.ts'

/** Says which cells are silent, and that what is shown of them is what was known last; the command ends so. */
export function warnOfSilent(operator: Operator, cells: readonly Cell[]): void {
  const silent = cells.filter(({ is_alive }) => !is_alive).map(({ name }) => name)
  if (silent.length === 0) return
  operator.endsAs('partial')
  operator.err.write(
    `weir: Unreachable: ${silent.join(', ')}. Their data is the last known. See: ./weir cell list\n`,
  )
}
