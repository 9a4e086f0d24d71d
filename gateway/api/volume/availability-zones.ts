import type { operations } from '#openapi/volume.gen.ts'
import { listZones, type Zone } from '../../app/hosts/hosts.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v3/os-availability-zone: those of the Compute API, so that a volume can be where its server is. */
export const listAvailabilityZones: Handler<operations['listAvailabilityZones']> = async ({
  app,
}) => {
  const zones = await listZones(app.db, app.compute.cells)
  return { body: { availabilityZoneInfo: zones.map(zoneView) } }
}

function zoneView({ name, isAvailable }: Zone) {
  return { zoneName: name, zoneState: { available: isAvailable } }
}
