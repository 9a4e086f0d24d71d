import { type Cells, isHostUp } from '../../app/hosts/host-state.ts'
import type { HostRecord } from '../../db/host-list.ts'

/** A host as Neutron shows the agent that does the network's work on one. */
export function agentView(host: HostRecord, cells: Cells) {
  const { view, createdAt } = host
  return {
    id: view.hostId,
    agent_type: 'Compute host' as const,
    binary: 'weir-compute' as const,
    topic: 'N/A',
    host: view.name,
    availability_zone: view.zone,
    alive: isHostUp(host, cells),
    admin_state_up: !view.isDisabled,
    created_at: agentTime(createdAt.getTime()),
    started_at: agentTime(view.startedAt),
    heartbeat_timestamp: agentTime(view.lastSeenAt),
    description: null,
    configurations: {
      driver: view.driver,
      filters_ports: view.capabilities.includes('firewall'),
    },
  }
}

function agentTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}
