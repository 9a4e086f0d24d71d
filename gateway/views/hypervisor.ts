import { reservedOf } from '#common/reserved.ts'
import { type Cells, isHostUp } from '../app/hosts/host-state.ts'
import { hypervisorHostname } from '../app/hosts/hypervisors.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { HostedServer, HostRecord } from '../db/host-list.ts'
import { isSince } from './since.ts'
import { withDedicated } from './with-dedicated.ts'

/** The id by which clients of this microversion know a host and its service. */
export function hostRecordId(host: HostRecord, context: RequestContext): number | string {
  return isSince(context, '2.53') ? host.view.hostId : host.serial
}

export interface HypervisorViewOptions {
  readonly context: RequestContext
  readonly cells: Cells
  /** By host id, where they were asked for. */
  readonly servers?: ReadonlyMap<string, readonly HostedServer[]>
  /** By host id, of hosts that report one. */
  readonly uptimes?: ReadonlyMap<string, string>
}

export function hypervisorSummary(
  host: HostRecord,
  { context, cells, servers }: HypervisorViewOptions,
) {
  const hosted = servers?.get(host.view.hostId)
  return {
    id: hostRecordId(host, context),
    hypervisor_hostname: hypervisorHostname(host),
    state: isHostUp(host, cells) ? ('up' as const) : ('down' as const),
    status: host.view.isDisabled ? ('disabled' as const) : ('enabled' as const),
    ...(hosted !== undefined && { servers: hosted.map(({ id, name }) => ({ uuid: id, name })) }),
  }
}

/** A hypervisor with all its properties; those that a host never reported are 0. */
export function hypervisorView(host: HostRecord, options: HypervisorViewOptions) {
  const { view } = host
  const { inventory } = view
  return {
    ...hypervisorSummary(host, options),
    ...capacityView(host),
    hypervisor_type: inventory?.hypervisor.type ?? view.driver,
    hypervisor_version: inventory?.hypervisor.version ?? 0,
    host_ip: inventory?.hypervisor.address ?? null,
    cpu_info: cpuInfo(host, options.context),
    uptime: options.uptimes?.get(view.hostId) ?? null,
    service: {
      id: hostRecordId(host, options.context),
      host: view.name,
      disabled_reason: view.disabledReason,
    },
  }
}

/**
 * The amounts that a host has and the used part, which includes, as in Nova, what the host keeps for itself; statistics add
 * up the same ones.
 */
function capacityView({ view }: HostRecord) {
  const { vcpus = 0, memoryMb = 0, diskGb = 0, resources } = view.inventory ?? {}
  const reserved = reservedOf(view)
  const used = {
    ...view.used,
    vcpus: view.used.vcpus + reserved.vcpus,
    memoryMb: view.used.memoryMb + reserved.memoryMb,
    diskGb: view.used.diskGb + reserved.diskGb,
  }
  return {
    vcpus: withDedicated(vcpus, resources),
    vcpus_used: withDedicated(used.vcpus, used.custom),
    memory_mb: memoryMb,
    memory_mb_used: used.memoryMb,
    free_ram_mb: memoryMb - used.memoryMb,
    local_gb: diskGb,
    local_gb_used: used.diskGb,
    free_disk_gb: diskGb - used.diskGb,
    disk_available_least: diskGb - used.diskGb,
    running_vms: used.instances,
    current_workload: 0,
  }
}

export type Capacity = ReturnType<typeof capacityView>

/** The sums over hosts that are enabled. */
export function statisticsView(hosts: readonly HostRecord[]) {
  const enabled = hosts.filter(({ view }) => !view.isDisabled).map(capacityView)
  const sum = (key: keyof Capacity) => enabled.reduce((total, each) => total + each[key], 0)
  return {
    count: enabled.length,
    vcpus: sum('vcpus'),
    vcpus_used: sum('vcpus_used'),
    memory_mb: sum('memory_mb'),
    memory_mb_used: sum('memory_mb_used'),
    free_ram_mb: sum('free_ram_mb'),
    local_gb: sum('local_gb'),
    local_gb_used: sum('local_gb_used'),
    free_disk_gb: sum('free_disk_gb'),
    disk_available_least: sum('disk_available_least'),
    running_vms: sum('running_vms'),
    current_workload: sum('current_workload'),
  }
}

/** JSON as text until microversion 2.27. */
function cpuInfo({ view: { inventory } }: HostRecord, context: RequestContext) {
  const info =
    inventory === null
      ? {}
      : {
          arch: inventory.architecture,
          vendor: inventory.cpu.vendor,
          model: inventory.cpu.model,
          features: inventory.cpu.features,
          topology: inventory.cpu.topology,
        }
  return isSince(context, '2.28') ? info : JSON.stringify(info)
}
