import { hash } from 'node:crypto'

/** The owner of the port that answers for the metadata service on each host, by Neutron's name. */
export const METADATA_PORT_OWNER = 'network:distributed'

/**
 * The port of a network by which its servers reach the metadata service. Its id and its MAC address are derived from
 * the network's id: a host plugs it in without asking, and two gateways cannot both create one.
 */
export function metadataPort(networkId: string): {
  readonly id: string
  readonly macAddress: string
} {
  const hex = hash('sha256', `metadata port ${networkId}`, 'hex')
  // It says version 5, of ids that are derived from names (RFC 9562, section 5.5).
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  const tail = hex.slice(32, 42).match(/../g)!
  return {
    id: [...groups, hex.slice(20, 32)].join('-'),
    // Locally administered and not of OpenStack's prefix, so that no random MAC address of a port is the same.
    macAddress: ['02', ...tail].join(':'),
  }
}
