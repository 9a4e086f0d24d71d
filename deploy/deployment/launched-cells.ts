import type { CellRecord, DeploymentState } from './state.ts'

/** The cells whose hosts the launcher starts: other cells have hosts that it does not manage. */
export function launchedCells({ cells }: Pick<DeploymentState, 'cells'>): readonly CellRecord[] {
  return cells.filter(({ cloud }) => cloud === undefined)
}
