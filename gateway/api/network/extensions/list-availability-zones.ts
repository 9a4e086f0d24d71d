import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v2.0/availability_zones */
export const listAvailabilityZones: Handler<operations['listAvailabilityZones']> = async () => {
  return { body: { availability_zones: [] } }
}
