import type { components } from '#openapi/federation.gen.ts'
import type { Emphasis } from '../output/style.ts'
import type { Listing } from '../output/view.ts'

export type Node = components['schemas']['Node']

const GIB_MB = 1_024
const GIB_BYTES = 1_024 ** 3

/** How machines are shown; `hostNames` by the hosts' ids. */
export function nodeListing(hostNames: ReadonlyMap<string, string>): Listing<Node> {
  return {
    plural: 'nodes',
    nameOf: ({ name }) => name,
    columns: [
      { head: 'NAME', of: ({ name }) => name },
      { head: 'HOST', of: ({ host_id }) => hostNames.get(host_id) ?? host_id },
      { head: 'STATE', of: nodeState, emphasis: nodeEmphasis },
      { head: 'POWER', of: ({ is_on }) => (is_on ? 'on' : 'off') },
      { head: 'CLASS', of: ({ resource_class }) => resource_class },
      { head: 'SERVER', of: ({ server_id }) => server_id },
      { head: 'REASON', of: ({ maintenance, failure }) => maintenance ?? failure },
      { head: 'BMC', of: ({ bmc }) => bmc && `${bmc.address}:${bmc.port}`, isWide: true },
      { head: 'BMC USER', of: ({ bmc }) => bmc && bmc.user, isWide: true },
      { head: 'MAC', of: ({ mac_address }) => mac_address, isWide: true },
      {
        head: 'NICS',
        of: ({ nics }) =>
          nics.map(({ mac_address, segment }) => `${mac_address}=${segment}`).join(' '),
        isWide: true,
      },
      { head: 'CPUS', of: ({ parts }) => parts && parts.cpus, isWide: true },
      {
        head: 'GIB',
        of: ({ parts }) => parts && Math.ceil(parts.memory_mb / GIB_MB),
        isWide: true,
      },
      {
        head: 'DISKS GIB',
        of: ({ parts }) =>
          parts &&
          parts.disks.map(({ size_bytes }) => Math.floor(size_bytes / GIB_BYTES)).join(','),
        isWide: true,
      },
      { head: 'TRAITS', of: ({ traits }) => traits.join(','), isWide: true },
    ],
  }
}

/** What matters most about it. */
function nodeState({ maintenance, server_id, state }: Node): string {
  return maintenance !== null && server_id === null ? 'maintenance' : state
}

function nodeEmphasis(node: Node): Emphasis {
  const state = nodeState(node)
  if (state.endsWith('failed')) return 'error'
  return state === 'available' || state === 'active' ? 'success' : 'warning'
}
