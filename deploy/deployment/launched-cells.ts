import type { CellRecord, DeploymentState } from './state.ts'

/** The cells whose hosts the launcher starts: what runs the servers of the others is somebody else's. */
export function launchedCells({ cells }: Pick<DeploymentState, 'cells'>): readonly CellRecord[] {
  return cells.filter(({ cloud }) => cloud === undefined)
}
