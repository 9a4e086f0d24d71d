import type { Reconciler } from '#common/reconciler.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 1_000

/** Tells operators when a cell becomes unreachable and when it is back; what waits for it goes on by itself. */
export function unreachableCells({ cells, log }: Pick<ComputeDeps, 'cells' | 'log'>): Reconciler {
  const unreachable = new Set<string>()
  return {
    name: 'unreachable cells',
    everyMs: EVERY_MS,
    round: async () => {
      for (const { id, name, isAlive, lastHeardAt } of cells.cells()) {
        if (!isAlive && !unreachable.has(id))
          log.warn({ cell: name, lastHeardAt }, 'cell is unreachable')
        if (isAlive && unreachable.has(id)) log.info({ cell: name }, 'cell is reachable again')
        if (isAlive) unreachable.delete(id)
        else unreachable.add(id)
      }
      return { unreachable: unreachable.size }
    },
  }
}
