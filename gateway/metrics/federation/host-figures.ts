import type { Registry } from 'prom-client'
import { type Sample, sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { reservedOf } from '#common/reserved.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type AllCells, isHostUp } from '../../app/hosts/host-state.ts'
import { hypervisorHostname } from '../../app/hosts/hypervisors.ts'
import type { HostRecord } from '../../db/host-list.ts'

const BYTES_PER_MIB = 2 ** 20
const BYTES_PER_GIB = 2 ** 30
const REASON_MAX = 64
const STATES = ['up', 'cordoned', 'down'] as const

export interface HostsRead {
  readonly hosts: readonly HostRecord[]
  readonly cells: AllCells
  /** Servers by host that are ACTIVE. */
  readonly active: ReadonlyMap<string, number>
  /** Names of aggregates by id. */
  readonly aggregates: ReadonlyMap<number, string>
}

/** Afterwards the registry has the hosts, by our own names and by those of openstack-exporter. */
export function hostFigures(registry: Registry): (read: HostsRead) => void {
  const byCell = sampledGauge(registry, {
    name: 'weir_hosts',
    help: 'Hosts by state; one that is down and cordoned is down',
    labels: ['cell', 'state'],
  })
  const setOwn = ownFigures(registry)
  const setNova = novaFigures(registry)
  return ({ hosts, cells, ...more }) => {
    const described = hosts.map((host) => describe(host, { cells, ...more }))
    const counts = new Map<string, number>()
    for (const { cell, state } of described) {
      const key = `${cell} ${state}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    byCell(
      cells
        .cells()
        .flatMap(({ name }) =>
          STATES.map((state): Sample => [counts.get(`${name} ${state}`) ?? 0, name, state]),
        ),
    )
    setOwn(described)
    setNova(described)
  }
}

interface DescribedHost {
  readonly record: HostRecord
  readonly cell: string
  readonly isUp: boolean
  readonly state: (typeof STATES)[number]
  readonly active: number
  /** Names, with commas between them. */
  readonly aggregates: string
}

function describe(
  record: HostRecord,
  { cells, active, aggregates }: Omit<HostsRead, 'hosts'>,
): DescribedHost {
  const isUp = isHostUp(record, cells)
  const cell = cells.cell(record.cellId)?.name ?? ''
  const state = isUp ? (record.view.isDisabled ? 'cordoned' : 'up') : 'down'
  const names = (record.view.aggregates ?? []).flatMap(({ id }) => aggregates.get(id) ?? [])
  return {
    record,
    cell,
    isUp,
    state,
    active: active.get(record.view.hostId) ?? 0,
    aggregates: names.join(','),
  }
}

type Figure = (host: DescribedHost) => number

/** Of one that has reported no inventory, 0. */
const physical =
  (key: 'vcpus' | 'memoryMb' | 'diskGb', factor = 1): Figure =>
  ({ record: { view } }) =>
    (view.inventory?.[key] ?? 0) * factor
const used =
  (key: 'vcpus' | 'memoryMb' | 'diskGb', factor = 1): Figure =>
  ({ record: { view } }) =>
    view.used[key] * factor
const limit =
  (key: 'vcpus' | 'memoryMb' | 'diskGb', factor = 1): Figure =>
  ({ record: { view } }) =>
    Math.floor(offered(view, key) * view.ratios[key]) * factor

/** Of one that has reported no inventory, 0. */
function offered(view: HostView, key: 'vcpus' | 'memoryMb' | 'diskGb'): number {
  return Math.max(0, (view.inventory?.[key] ?? 0) - reservedOf(view)[key])
}

function ownFigures(registry: Registry): (hosts: readonly DescribedHost[]) => void {
  const figures: readonly (readonly [name: string, help: string, Figure])[] = [
    [
      'weir_host_up',
      'Whether the host is up, and its cell is reachable',
      ({ isUp }) => Number(isUp),
    ],
    ['weir_host_servers', 'Servers on the host', ({ record }) => record.view.used.instances],
    ['weir_host_vcpus_used', 'vCPUs in use', used('vcpus')],
    ['weir_host_vcpus_limit', 'vCPUs that may be promised, overcommit included', limit('vcpus')],
    ['weir_host_memory_bytes_used', 'Memory in use', used('memoryMb', BYTES_PER_MIB)],
    [
      'weir_host_memory_bytes_limit',
      'Memory that may be promised',
      limit('memoryMb', BYTES_PER_MIB),
    ],
    ['weir_host_disk_bytes_used', 'Disk space in use', used('diskGb', BYTES_PER_GIB)],
    [
      'weir_host_disk_bytes_limit',
      'Disk space that may be promised',
      limit('diskGb', BYTES_PER_GIB),
    ],
  ]
  const gauges = figures.map(([name, help, figure]) => {
    return { set: sampledGauge(registry, { name, help, labels: ['cell', 'host'] }), figure }
  })
  return (hosts) => {
    for (const { set, figure } of gauges)
      set(hosts.map((host) => [figure(host), host.cell, host.record.view.name]))
  }
}

/** Names and labels are those of openstack-exporter. */
function novaFigures(registry: Registry): (hosts: readonly DescribedHost[]) => void {
  const labels = ['hostname', 'availability_zone', 'aggregates']
  const free: Figure = (host) =>
    Math.max(0, physical('diskGb', BYTES_PER_GIB)(host) - used('diskGb', BYTES_PER_GIB)(host))
  const figures: readonly (readonly [name: string, help: string, Figure])[] = [
    ['vcpus_available', 'vCPUs of the hypervisor', physical('vcpus')],
    ['vcpus_used', 'vCPUs in use', used('vcpus')],
    ['memory_available_bytes', 'Memory of the hypervisor', physical('memoryMb', BYTES_PER_MIB)],
    ['memory_used_bytes', 'Memory in use', used('memoryMb', BYTES_PER_MIB)],
    ['local_storage_available_bytes', 'Disk space', physical('diskGb', BYTES_PER_GIB)],
    ['local_storage_used_bytes', 'Disk space in use', used('diskGb', BYTES_PER_GIB)],
    ['free_disk_bytes', 'Disk space that is not in use', free],
  ]
  const gauges = figures.map(([name, help, figure]) => {
    return { set: sampledGauge(registry, { name: `openstack_nova_${name}`, help, labels }), figure }
  })
  const running = sampledGauge(registry, {
    name: 'openstack_nova_running_vms',
    help: 'Servers that are ACTIVE; tenant_id is empty',
    labels: [...labels, 'tenant_id'],
  })
  const agent = sampledGauge(registry, {
    name: 'openstack_nova_agent_state',
    help: 'Whether the compute service of the host is up',
    labels: ['id', 'hostname', 'service', 'adminState', 'zone', 'disabledReason'],
  })
  return (hosts) => {
    const labelled = hosts.map((host) => ({ host, values: hypervisorLabels(host) }))
    for (const { set, figure } of gauges)
      set(labelled.map(({ host, values }) => [figure(host), ...values]))
    running(labelled.map(({ host, values }) => [host.active, ...values, '']))
    agent(hosts.map(agentSample))
  }
}

function hypervisorLabels({ record, aggregates }: DescribedHost): readonly string[] {
  return [hypervisorHostname(record), record.view.zone, aggregates]
}

function agentSample({ record: { view }, isUp }: DescribedHost): Sample {
  const { hostId, name, isDisabled, zone, disabledReason } = view
  const reason = (disabledReason ?? '').slice(0, REASON_MAX)
  return [
    Number(isUp),
    hostId,
    name,
    'nova-compute',
    isDisabled ? 'disabled' : 'enabled',
    zone,
    reason,
  ]
}
