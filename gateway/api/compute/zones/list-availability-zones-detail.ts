import type { operations } from '#openapi/compute.gen.ts'
import { listZones } from '../../../app/hosts/list-zones.ts'
import type { Handler } from '../../../http/operation.ts'
import { zoneDetailView } from '../../../views/zone.ts'

type Operation = operations['listAvailabilityZonesDetail']

export const listAvailabilityZonesDetail: Handler<Operation> = async ({ app }) => {
  const { cells } = app.compute
  const zones = await listZones(app.db, cells)
  return { body: { availabilityZoneInfo: zones.map((zone) => zoneDetailView(zone, cells)) } }
}
