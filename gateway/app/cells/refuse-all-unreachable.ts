import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cell-client/cell.ts'

/**
 * Throws `unavailable` when every cell that takes something new is unreachable. The gateway is more likely to be cut off
 * than they are to be lost: that none fits is no answer then, and another gateway, or a later try, may find one.
 */
export function refuseAllUnreachable(cells: readonly Cell[]): void {
  const enabled = cells.filter((cell) => cell.isEnabled)
  if (enabled.length === 0 || enabled.some((cell) => cell.isReachable)) return
  throw new Failure('unavailable', 'No cell can be reached at the moment. Please try again.')
}
