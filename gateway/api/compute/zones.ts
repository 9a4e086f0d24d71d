import type { operations } from '#openapi/compute.gen.ts'
import { listZones } from '../../app/hosts/hosts.ts'
import { listCellServices } from '../../app/hosts/services.ts'
import type { Handler } from '../../http/operation.ts'
import { internalZoneView, zoneDetailView, zoneView } from '../../views/zone.ts'

const listAvailabilityZones: Handler<operations['listAvailabilityZones']> = async ({ app }) => {
  const zones = await listZones(app.db, app.compute.cells)
  return { body: { availabilityZoneInfo: zones.map(zoneView) } }
}

const listAvailabilityZonesDetail: Handler<operations['listAvailabilityZonesDetail']> = async ({
  app,
}) => {
  const { cells } = app.compute
  const zones = await listZones(app.db, cells)
  const services = listCellServices(cells.cells(), {})
  const internal = services.length === 0 ? [] : [internalZoneView(services)]
  const shown = [...internal, ...zones.map((zone) => zoneDetailView(zone, cells))]
  return { body: { availabilityZoneInfo: shown } }
}

export const zoneHandlers = { listAvailabilityZones, listAvailabilityZonesDetail }
