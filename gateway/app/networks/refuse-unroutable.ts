import type { Network } from '../../db/network.ts'
import type { RoutingHost } from '../../db/routing-hosts.ts'
import { contains, parseCidr, parseIp } from './ip.ts'
import { NetworkFailure } from './network-failure.ts'
import { segmentOf } from './segment-of.ts'

type OutsideNetwork = Pick<Network, 'name' | 'physicalNetwork' | 'vlanId'>

/**
 * Throws `conflict` if the cloud that is the server's host could never have this floating IP, with the reason. What only that cloud
 * knows, such as an address that it has given out, is found out later.
 */
export function refuseUnroutable(
  host: RoutingHost,
  network: OutsideNetwork,
  address: string,
): void {
  const reason = reasonAgainst(host, network, address)
  if (reason !== undefined)
    throw new NetworkFailure(
      'conflict',
      'ExternalNetworkUnreachable',
      `Floating IP ${address} cannot lead to a server on host ${host.name}: ${reason}`,
    )
}

function reasonAgainst(
  { problem, externalNetworks }: RoutingHost,
  network: OutsideNetwork,
  address: string,
): string | undefined {
  const { name } = network
  const physicalNetwork = segmentOf(network)
  if (problem !== null) return problem
  // Not known yet.
  if (externalNetworks.length === 0) return undefined
  const known = externalNetworks.map((each) => each.name).join(', ')
  if (physicalNetwork === null && externalNetworks.length > 1)
    return `network ${name} names no physical network, and the host's cloud has several external networks (${known}). Create an external network with one of them as its physical network.`
  const outside = externalNetworks.find(
    (each) => physicalNetwork === null || each.name === physicalNetwork,
  )
  if (outside === undefined)
    return `the host's cloud has no external network for physical network ${physicalNetwork} of network ${name}. It has: ${known}. Take a floating IP of a network on one of these.`
  const { cidrs } = outside
  const ip = parseIp(address, 'floating_ip_address')
  const isInside = cidrs.some((cidr) => contains(parseCidr(cidr, 'cidr'), ip))
  if (cidrs.length === 0 || isInside) return undefined
  return `the address is outside the subnets of the external network ${outside.name} of the host's cloud (${cidrs.join(', ')}). Give the subnet of network ${name} addresses of these.`
}
