import type { Operator } from '../operator.ts'
import type { Cell } from './cell-listing.ts'

/** Says which cells are unreachable, and that what is shown of them is what was known last; the command ends so. */
export function warnOfUnreachable(operator: Operator, cells: readonly Cell[]): void {
  const unreachable = cells.filter(({ is_reachable }) => !is_reachable).map(({ name }) => name)
  if (unreachable.length === 0) return
  operator.endsAs('partial')
  operator.err.write(
    `weir: Unreachable: ${unreachable.join(', ')}. Their data is the last known. See: ./weir cell list\n`,
  )
}
