import type { Registry } from 'prom-client'
import { type Sample, sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { apiStatus } from '#common/states/instance-states.ts'
import type { AllCells } from '../../app/hosts/host-state.ts'
import type { QuotaLimits } from '../../app/quotas/resources.ts'
import type { ProjectUse, ServerCount } from '../../db/federation-counts.ts'

export interface ServersRead {
  readonly servers: readonly ServerCount[]
  readonly cells: AllCells
  /** The largest, with their limits. */
  readonly projects: readonly { readonly use: ProjectUse; readonly limits: QuotaLimits }[]
}

/** Afterwards the registry has the servers by cell and status, and the limits of projects. */
export function serverFigures(registry: Registry): (read: ServersRead) => void {
  const byStatus = sampledGauge(registry, {
    name: 'weir_servers',
    help: 'Servers by the status that users see; cell is empty for those in none',
    labels: ['cell', 'status'],
  })
  const total = sampledGauge(registry, { name: 'openstack_nova_total_vms', help: 'Servers' })
  const setLimits = limitFigures(registry)
  return ({ servers, cells, projects }) => {
    const counts = new Map<string, number>()
    for (const { cellId, vmState, taskState, count } of servers) {
      const cell = cellId === null ? '' : (cells.cell(cellId)?.name ?? '')
      const key = JSON.stringify([cell, apiStatus(vmState, taskState)])
      counts.set(key, (counts.get(key) ?? 0) + count)
    }
    byStatus([...counts].map(([key, count]) => [count, ...(JSON.parse(key) as string[])]))
    total([[servers.reduce((sum, { count }) => sum + count, 0)]])
    setLimits(projects)
  }
}

/** Servers by host that are ACTIVE. */
export function activeByHost(servers: readonly ServerCount[]): ReadonlyMap<string, number> {
  const active = new Map<string, number>()
  for (const { hostId, vmState, taskState, count } of servers)
    if (hostId !== null && apiStatus(vmState, taskState) === 'ACTIVE')
      active.set(hostId, (active.get(hostId) ?? 0) + count)
  return active
}

/** Names, labels and units are those of openstack-exporter: memory in MiB; without a limit, -1. */
function limitFigures(registry: Registry): (projects: ServersRead['projects']) => void {
  const gauge = (name: string, help: string) =>
    sampledGauge(registry, {
      name: `openstack_nova_limits_${name}`,
      help,
      labels: ['tenant', 'tenant_id'],
    })
  const resources = [
    ['vcpus', 'cores', 'vCPUs'],
    ['memory', 'ram', 'MiB of memory'],
    ['instances', 'instances', 'servers'],
  ] as const
  const gauges = resources.map(([name, key, what]) => ({
    key,
    max: gauge(`${name}_max`, `How many ${what} the project may have`),
    used: gauge(`${name}_used`, `How many ${what} the project has`),
  }))
  return (projects) => {
    const sample = (value: number, { name, projectId }: ProjectUse): Sample => [
      value,
      name,
      projectId,
    ]
    for (const { key, max, used } of gauges) {
      max(projects.map(({ use, limits }) => sample(limits[key], use)))
      used(projects.map(({ use }) => sample(Number(use[key]), use)))
    }
  }
}
