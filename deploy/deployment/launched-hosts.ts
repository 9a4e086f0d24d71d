import { launchedCells } from './launched-cells.ts'
import type { DeploymentState, HostRecord } from './state.ts'

/** The hosts that the launcher starts, of whichever cell. */
export function launchedHosts(
  state: Pick<DeploymentState, 'cells' | 'host'>,
): readonly HostRecord[] {
  const ofCells = launchedCells(state).flatMap(({ hosts }) => hosts)
  return state.host === undefined ? ofCells : [...ofCells, state.host]
}
