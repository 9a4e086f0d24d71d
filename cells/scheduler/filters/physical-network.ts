import type { KindFilter } from '../filter.ts'
import type { HostKind } from '../host-state.ts'

/** Whole machines are on networks of the site alone, where the hosts of the cell give addresses. */
export const physicalNetworkFilter: KindFilter = {
  name: 'PhysicalNetworkFilter',
  by: 'kind',
  refuse: ({ machineSegments, mappedNetworks }, { segments }) => {
    if (machineSegments === null) return undefined
    for (const segment of segments) {
      const reason = reasonAgainst(segment, machineSegments, mappedNetworks)
      if (reason !== undefined) return reason
    }
    return undefined
  },
}

function reasonAgainst(
  segment: string | null,
  machineSegments: readonly string[],
  mapped: HostKind['mappedNetworks'],
): string | undefined {
  const known = machineSegments.length === 0 ? 'none' : machineSegments.join(', ')
  if (segment === null)
    return `has whole machines, which tenant networks do not reach: use a provider network on one of its machines' networks (${known})`
  if (!machineSegments.includes(segment))
    return `has no machine with a NIC on ${segment}: add one with ./weir node add --nic, or use a network on one of ${known}`
  const [physicalNetwork = ''] = segment.split(':')
  if (!mapped.includes(physicalNetwork))
    return `is in a cell without a host that maps ${physicalNetwork} to a bridge and gives addresses there: map it with ovn-bridge-mappings`
  return undefined
}
