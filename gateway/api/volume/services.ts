import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import {
  type CellStore,
  listStores,
  listVolumeServices,
  type VolumeService,
} from '../../app/volumes/services.ts'
import type { Handler } from '../../http/operation.ts'
import { INTERNAL_ZONE, lastHeartbeatOf } from '../../views/service.ts'

const listPools: Handler<operations['listPools']> = async ({ app, query }) => {
  const pools = listStores(app.compute.cells.cells())
  return { body: { pools: pools.map((pool) => poolView(pool, query.detail === true)) } }
}

const listServices: Handler<operations['listServices']> = async ({ app, query }) => {
  const services = listVolumeServices(app.compute.cells.cells(), query)
  return { body: { services: services.map(serviceView) } }
}

const showCapabilities: Handler<operations['showCapabilities']> = async ({ params }) => {
  throw new Failure('not-found', `Can't find service: ${params.host_name}`)
}

export const serviceHandlers = { listPools, listServices, showCapabilities }

function poolView({ cell, store }: CellStore, isDetailed: boolean) {
  const name = `${cell.name}@${store.name}`
  if (!isDetailed) return { name }
  return {
    name,
    capabilities: {
      pool_name: name,
      volume_backend_name: store.name,
      storage_protocol: store.engine,
      total_capacity_gb: store.totalGb,
      free_capacity_gb: store.freeGb,
      allocated_capacity_gb: store.promisedGb,
      multiattach: store.multiattach,
      'weir:encrypts': store.encrypts === true,
      'weir:lacks': store.lacks ?? [],
      backend_state: store.isUp ? ('up' as const) : ('down' as const),
    },
  }
}

/** A service of a cell; down while the cell is unreachable. */
function serviceView({ cell, binary }: VolumeService) {
  return {
    binary,
    host: cell.name,
    zone: INTERNAL_ZONE,
    status: 'enabled' as const,
    state: cell.isReachable ? ('up' as const) : ('down' as const),
    updated_at: lastHeartbeatOf(cell),
    disabled_reason: null,
    cluster: null,
  }
}
