import { Gauge, type Registry } from 'prom-client'
import type { ConnectionUse } from '../db/server-pools.ts'

/** Afterwards the registry has the connections to the database. It is not asked for them. */
export function databaseMetrics(registry: Registry, db: { readonly use: ConnectionUse }): void {
  new Gauge({
    name: 'weir_database_connections',
    help: 'Connections that are open, those of them that are busy, and work that waits for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(db.use)) this.set({ state }, count)
    },
  })
}
