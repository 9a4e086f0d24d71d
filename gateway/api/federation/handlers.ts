import type { Handlers } from '../../http/operation.ts'
import { listCells } from './cells/list-cells.ts'
import { showCell } from './cells/show-cell.ts'
import { updateCell } from './cells/update-cell.ts'
import { listDrivers } from './drivers/list-drivers.ts'
import { listEvents } from './events/list-events.ts'
import { listHosts } from './hosts/list-hosts.ts'
import { showHost } from './hosts/show-host.ts'
import { updateHost } from './hosts/update-host.ts'
import { explainPlacement } from './placements/explain-placement.ts'
import { showTrace } from './servers/show-trace.ts'
import { listVersions } from './versions/list-versions.ts'

/** A handler for every operation of openapi/federation.yaml. */
export const federationHandlers: Handlers = {
  explainPlacement,
  listCells,
  listDrivers,
  listEvents,
  listHosts,
  listVersions,
  showCell,
  showHost,
  showTrace,
  updateCell,
  updateHost,
}
