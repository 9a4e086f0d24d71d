import type { Reconciler } from '#common/reconciler.ts'
import { isMissed } from '../../cell-client/cell.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 1_000

/** Logs when a cell becomes unreachable and when it is back; work that waits for the cell continues by itself. */
export function unreachableCells({ cells, log }: Pick<ComputeDeps, 'cells' | 'log'>): Reconciler {
  const unreachable = new Set<string>()
  return {
    name: 'unreachable cells',
    everyMs: EVERY_MS,
    round: async () => {
      for (const cell of cells.cells()) {
        const { id, name, isReachable, lastHeartbeatAt } = cell
        if (!unreachable.has(id) && isMissed(cells, cell)) {
          log.warn({ cell: name, lastHeartbeatAt }, 'cell is unreachable')
          unreachable.add(id)
        }
        if (isReachable && unreachable.delete(id))
          log.info({ cell: name }, 'cell is reachable again')
      }
      return { unreachable: unreachable.size }
    },
  }
}
