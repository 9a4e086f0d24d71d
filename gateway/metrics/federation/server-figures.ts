import type { Registry } from 'prom-client'
import { sampledGauge } from '#common/metrics/sampled-gauge.ts'
import { apiStatus } from '#common/states/instance-states.ts'
import type { AllCells } from '../../app/hosts/host-state.ts'
import type { ServerCount } from '../../db/federation-counts.ts'

export interface ServersRead {
  readonly servers: readonly ServerCount[]
  readonly cells: AllCells
}

/** Afterwards the registry has the servers by cell and status. */
export function serverFigures(registry: Registry): (read: ServersRead) => void {
  const byStatus = sampledGauge(registry, {
    name: 'weir_servers',
    help: 'Servers by the status that users see; cell is empty for those in none',
    labels: ['cell', 'status'],
  })
  const total = sampledGauge(registry, { name: 'openstack_nova_total_vms', help: 'Servers' })
  return ({ servers, cells }) => {
    const counts = new Map<string, number>()
    for (const { cellId, vmState, taskState, count } of servers) {
      const cell = cellId === null ? '' : (cells.cell(cellId)?.name ?? '')
      const key = JSON.stringify([cell, apiStatus(vmState, taskState)])
      counts.set(key, (counts.get(key) ?? 0) + count)
    }
    byStatus([...counts].map(([key, count]) => [count, ...(JSON.parse(key) as string[])]))
    total([[servers.reduce((sum, { count }) => sum + count, 0)]])
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
