import type { Executor } from '#common/db/database.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import { readStores } from '../db/stores.ts'
import type { HostRegistry } from '../hosts/host-registry.ts'
import { storeSummary } from './store.ts'

/** The stores as gateways hear of them. A cell of which no host has volumes does not look. */
export async function storeSummaries(
  db: Executor,
  hosts: HostRegistry,
  ratio: number,
): Promise<StoreSummary[]> {
  if (!hosts.all().some(({ capabilities }) => capabilities.includes('volumes'))) return []
  return (await readStores(db)).map((store) => storeSummary(store, hosts, ratio))
}
