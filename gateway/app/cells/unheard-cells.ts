import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { CellRegistry } from '../../cell-client/registry.ts'

/**
 * Throws `unavailable` when every cell that takes something new is unreachable, other than those that were declared lost. The
 * gateway is more likely to be cut off: that none fits is no answer then, and another gateway, or a later try, may find one.
 */
export function refuseAllUnreachable(cells: readonly Cell[]): void {
  const expected = cells.filter(({ isEnabled, isLost }) => isEnabled && !isLost)
  if (expected.length === 0 || expected.some(({ isReachable }) => isReachable)) return
  throw new Failure('unavailable', 'No cell can be reached at the moment. Please try again.')
}

/** Throws `unavailable` where this gateway has begun so lately that it may still hear another of these cells. */
export function refuseUnheard(
  registry: Pick<CellRegistry, 'isUnreachable'>,
  cells: readonly Cell[],
): void {
  const unheard = cells.find(
    ({ id, isEnabled, isLost, isReachable }) =>
      isEnabled && !isLost && !isReachable && !registry.isUnreachable(id),
  )
  if (unheard === undefined) return
  throw new Failure('unavailable', `Cell ${unheard.name} has not been heard yet. Please try again.`)
}
