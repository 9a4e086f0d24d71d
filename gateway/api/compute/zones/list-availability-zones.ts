import type { operations } from '#openapi/compute.gen.ts'
import { listZones } from '../../../app/hosts/list-zones.ts'
import type { Handler } from '../../../http/operation.ts'
import { zoneView } from '../../../views/zone.ts'

type Operation = operations['listAvailabilityZones']

export const listAvailabilityZones: Handler<Operation> = async ({ app }) => {
  const zones = await listZones(app.db, app.compute.cells)
  return { body: { availabilityZoneInfo: zones.map(zoneView) } }
}
