import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import { listVolumeServices, type VolumeService } from '../../app/volumes/services.ts'
import type { Handler } from '../../http/operation.ts'
import { INTERNAL_ZONE, lastHeartbeatOf } from '../../views/service.ts'

const listPools: Handler<operations['listPools']> = async () => ({ body: { pools: [] } })

const listServices: Handler<operations['listServices']> = async ({ app, query }) => {
  const services = listVolumeServices(app.compute.cells.cells(), query)
  return { body: { services: services.map(serviceView) } }
}

const showCapabilities: Handler<operations['showCapabilities']> = async ({ params }) => {
  throw new Failure('not-found', `Can't find service: ${params.host_name}`)
}

export const serviceHandlers = { listPools, listServices, showCapabilities }

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
