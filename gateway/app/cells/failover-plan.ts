import type { CellId } from '#common/ids.ts'

/** What decides whether a cell's servers are to be rebuilt in others. */
export interface WatchedCell {
  readonly id: CellId
  readonly isReachable: boolean
  readonly isLost: boolean
  /** How long this gateway has not heard it; undefined: not since it began. */
  readonly silentMs: number | undefined
  /** Some gateway has heard it once, and none for the time that its operator set. */
  readonly isSilentForAll: boolean
  /** Null: never. */
  readonly recoverAfterS: number | null
  /** Its hosts stop their guests once no gateway has been in touch for so long; undefined: they never do. */
  readonly fenceAfterS: number | undefined
}

export interface FailoverPlan {
  readonly lose: readonly CellId[]
  /** Most cells are unreachable, so this gateway rather than they may be cut off. */
  readonly isBlind: boolean
}

/**
 * Decides which cells are to be given up. `watchedMs`: how long this gateway has heard most of the cells, without a pause.
 * A cell whose hosts do not stop their guests by themselves is never given up: they may still run.
 */
export function planFailover(cells: readonly WatchedCell[], watchedMs: number): FailoverPlan {
  const known = cells.filter(({ isLost }) => !isLost)
  const unreachable = known.filter(({ isReachable }) => !isReachable)
  const isBlind = unreachable.length * 2 > known.length
  const isDue = ({ recoverAfterS, fenceAfterS, silentMs, isSilentForAll }: WatchedCell) => {
    if (recoverAfterS === null || fenceAfterS === undefined) return false
    // A gateway that began after the cell fell silent has not heard it for as long as it has watched.
    return isSilentForAll && Math.min(silentMs ?? watchedMs, watchedMs) > 1_000 * recoverAfterS
  }
  return { lose: isBlind ? [] : unreachable.filter(isDue).map(({ id }) => id), isBlind }
}
