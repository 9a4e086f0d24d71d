import { formatBeforeChanges } from '#common/changed-format.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import type { OperatedCell } from '../../app/cells/operated-cells.ts'
import { resources } from './resources.ts'

/** A cell as the federation API shows it. */
export function cellView(cell: OperatedCell) {
  const { reported } = cell
  const lastHeartbeatAt = reported?.lastHeartbeatAt ?? cell.lastHeartbeatAt?.getTime()
  const summary = reported?.summary ?? cell.summary
  return {
    id: cell.id,
    name: cell.name,
    is_enabled: !cell.isDisabled,
    disabled_reason: cell.disabledReason,
    weight: cell.weight,
    transport_zone: cell.transportZone,
    labels: cell.labels,
    taints: cell.taints,
    recover_after_s: cell.recoverAfterS,
    failed_tunnels: cell.failedTunnels.map(({ cellId, cell: name, failure, testedAt }) => ({
      ...{ cell_id: cellId, cell: name, failure },
      tested_at: testedAt.toISOString(),
    })),
    is_reachable: reported?.isReachable ?? false,
    is_alive: reported?.isReachable ?? false,
    last_heard_at: lastHeartbeatAt === undefined ? null : new Date(lastHeartbeatAt).toISOString(),
    needs_resync: cell.needsResync,
    created_at: cell.createdAt.toISOString(),
    loss: cell.loss === null ? null : { ...cell.loss, at: cell.loss.at.toISOString() },
    summary: summary === null ? null : summaryView(summary),
  }
}

/** Changes with every change an operator makes, and not with what the cell says of itself. */
export function cellTag({ revision }: OperatedCell): string {
  return `"${revision}"`
}

function summaryView(summary: CellSummary) {
  return {
    release: summary.release ?? null,
    wire_versions: summary.wireVersions ?? [],
    hosts: summary.hosts,
    hosts_up: summary.hostsUp,
    servers: summary.instances,
    is_simulated: summary.simulated,
    zones: summary.zones,
    hypervisor_types: summary.hypervisorTypes,
    architectures: summary.architectures,
    image_formats: summary.imageFormats.filter((each) => formatBeforeChanges(each) === undefined),
    free: resources(summary.free),
    largest: resources(summary.largest),
    used: summary.used === undefined ? null : resources(summary.used),
    total: summary.total === undefined ? null : resources(summary.total),
    limits: summary.limits === undefined ? null : resources(summary.limits),
  }
}
