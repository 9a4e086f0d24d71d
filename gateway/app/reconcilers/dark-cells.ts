import type { Reconciler } from '#common/reconciler.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 1_000

/** Tells operators when a cell falls silent and when it is back; what waits for it goes on by itself. */
export function darkCells({ cells, log }: Pick<ComputeDeps, 'cells' | 'log'>): Reconciler {
  const dark = new Set<string>()
  return {
    name: 'dark cells',
    everyMs: EVERY_MS,
    round: async () => {
      for (const { id, name, isAlive, lastHeardAt } of cells.cells()) {
        if (!isAlive && !dark.has(id)) log.warn({ cell: name, lastHeardAt }, 'cell is dark')
        if (isAlive && dark.has(id)) log.info({ cell: name }, 'cell is back')
        if (isAlive) dark.delete(id)
        else dark.add(id)
      }
      return { dark: dark.size }
    },
  }
}
