import type { Operator } from '../operator.ts'
import type { Cell } from './cell-listing.ts'

/** Prints which cells are unreachable, and that their rows are as last known; sets the exit code for that. */
export function warnOfUnreachable(operator: Operator, cells: readonly Cell[]): void {
  const unreachable = cells.filter(({ is_reachable }) => !is_reachable).map(({ name }) => name)
  if (unreachable.length === 0) return
  operator.endsAs('partial')
  operator.err.write(
    `weir: Unreachable: ${unreachable.join(', ')}. Their data is the last known. See: ./weir cell list\n`,
  )
}
