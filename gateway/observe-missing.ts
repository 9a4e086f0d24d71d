import { Gauge, type Registry } from 'prom-client'
import { errorFields } from '#common/log.ts'
import { countStuck } from '#common/saga/stuck.ts'
import type { ComputeDeps } from './app/compute.ts'
import { countMissing } from './db/missing-servers.ts'
import { countStuckRows } from './db/reconciler-rows.ts'

/**
 * Afterwards the metrics have, per cell, how many servers are shown that the cell's last full copy had not, and how
 * many operations are stuck: those of gateways, and those that cells count in their heartbeats.
 */
export function observeMissing(
  registry: Registry,
  { db, cells, log }: Pick<ComputeDeps, 'db' | 'cells' | 'log'>,
): void {
  const stuck = new Gauge({
    name: 'weir_stuck_operations',
    help: 'Operations of gateways and cells that no process takes up until an operator continues them',
    registers: [registry],
  })
  const gauge = new Gauge({
    name: 'weir_index_missing_servers',
    help: 'Servers the index has and a full copy of their cell had not',
    labelNames: ['cell'],
    registers: [registry],
    collect: async () => {
      try {
        const missing = await countMissing(db)
        for (const { id, name } of cells.cells()) gauge.set({ cell: name }, missing.get(id) ?? 0)
        stuck.set((await countStuck(db)) + (await countStuckRows(db)) + stuckIn(cells))
      } catch (error) {
        // The other metrics are most needed while the database is unavailable.
        log.warn(errorFields(error), 'missing servers not counted')
      }
    },
  })
}

/** Sagas of a lost cell are not continued. */
function stuckIn(cells: ComputeDeps['cells']): number {
  const serving = cells.cells().filter(({ isLost }) => !isLost)
  return serving.reduce((sum, { summary }) => sum + (summary?.stuckSagas ?? 0), 0)
}
