import type { Registry } from 'prom-client'
import { sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { listStores, listVolumeServices } from '../../app/volumes/services.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { VolumeCount } from '../../db/federation-counts.ts'

export interface VolumesRead {
  readonly volumes: readonly VolumeCount[]
  readonly cells: readonly Cell[]
}

/** Afterwards the registry has volumes by status, stores, and what places volumes, by the names of openstack-exporter. */
export function volumeFigures(registry: Registry): (read: VolumesRead) => void {
  const gauge = (name: string, help: string, ...labels: readonly string[]) =>
    sampledGauge(registry, { name: `openstack_cinder_${name}`, help, labels })
  const total = gauge('volumes', 'Volumes')
  const byStatus = gauge('volume_status_counter', 'Volumes by their status', 'status')
  const ofPool = ['name', 'volume_backend_name', 'vendor_name']
  const free = gauge('pool_capacity_free_gb', 'GiB of the store that are free', ...ofPool)
  const size = gauge('pool_capacity_total_gb', 'GiB of the store', ...ofPool)
  const agents = gauge(
    'agent_state',
    'Whether the cell, which places volumes, is reachable',
    ...['uuid', 'hostname', 'service', 'adminState', 'zone', 'disabledReason'],
  )
  return ({ volumes, cells }) => {
    total([[volumes.reduce((sum, { count }) => sum + count, 0)]])
    byStatus(volumes.map(({ status, count }) => [count, status]))
    const stores = listStores(cells).map(({ cell, store }) => {
      return { store, of: [`${cell.name}@${store.name}`, store.name, ''] as const }
    })
    free(stores.map(({ store, of }) => [store.freeGb, ...of]))
    size(stores.map(({ store, of }) => [store.totalGb, ...of]))
    agents(
      listVolumeServices(cells, {}).map(({ cell, binary }) => [
        Number(cell.isReachable),
        ...[cell.id, cell.name, binary, 'enabled', 'internal', ''],
      ]),
    )
  }
}
