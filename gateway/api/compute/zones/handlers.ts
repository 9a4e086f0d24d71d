import { listAvailabilityZones } from './list-availability-zones.ts'
import { listAvailabilityZonesDetail } from './list-availability-zones-detail.ts'

export const zoneHandlers = { listAvailabilityZones, listAvailabilityZonesDetail }
