import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { readStores } from '../db/stores.ts'
import { type Store, storeSummary } from './store.ts'

/** Hosts report once a minute, and claims decide about room. */
const READ_EVERY_MS = 5_000

/** The stores as gateways hear of them: rows at most five seconds old, with the hosts as they are now. */
export function recentStores({
  db,
  hosts,
  clock,
}: Pick<Conductor, 'db' | 'hosts' | 'clock'>): () => Promise<readonly StoreSummary[]> {
  let stores: readonly Store[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    const now = clock.elapsed()
    if (now - readAt >= READ_EVERY_MS) {
      stores = await readStores(db)
      readAt = now
    }
    return stores.map((store) => storeSummary(store, hosts))
  }
}
