import type { operations } from '#openapi/network.gen.ts'
import { listZones } from '../../../app/hosts/list-zones.ts'
import { pageOf } from '../../../app/networks/list-query.ts'
import { matchFilters } from '../../../app/networks/match-filters.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { networkZoneView } from '../../../views/network/zone.ts'
import { pick } from '../pick.ts'

const FILTERS = { name: 'text', resource: 'text', state: 'text' } as const

/** GET /v2.0/availability_zones */
export const listAvailabilityZones: Handler<operations['listAvailabilityZones']> = async (call) => {
  const { app, query, raw } = call
  const { filters } = pageOf(queryPairs(raw.search), FILTERS)
  const zones = await listZones(app.db, app.compute.cells)
  const shown = matchFilters(zones.map(networkZoneView), filters)
  return { body: { availability_zones: shown.map((zone) => pick(zone, query.fields)) } }
}
