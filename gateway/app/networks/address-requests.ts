import { Failure } from '#common/errors.ts'
import type { Network, Subnet } from '../../db/network.ts'
import type { Requester } from '../requester.ts'
import { checkAddress } from './allocate-address.ts'
import { contains, formatIp, parseCidr, parseIp } from './ip.ts'
import type { AddressRequest } from './place-port.ts'
import { isAutoAddressed } from './subnet-addressing.ts'

/** An entry of a port's `fixed_ips`: a subnet, an address, or both. */
export interface RequestedAddress {
  readonly subnet_id?: string
  readonly ip_address?: string
}

const ADDRESSES_MAX = 5

/**
 * The addresses that a request names, each with its subnet; the port has the addresses `present`. Throws `invalid` for
 * subnets and addresses that are not of the network.
 */
export function addressRequests(
  network: Network,
  subnets: readonly Subnet[],
  requester: Requester,
  asked: readonly RequestedAddress[],
  present: readonly string[] = [],
): readonly AddressRequest[] {
  if (asked.length > ADDRESSES_MAX)
    throw new Failure(
      'invalid',
      `Exceeded maximum amount of fixed ips per port (${ADDRESSES_MAX}).`,
    )
  const choosesAddress = asked.some(
    ({ ip_address }) => ip_address !== undefined && !present.includes(ip_address),
  )
  // Neutron's create_port:fixed_ips:ip_address: on a shared network only its owner picks addresses.
  if (choosesAddress && !requester.isAdmin && network.projectId !== requester.projectId)
    throw new Failure('forbidden', 'Only the owner of the network may choose an ip_address on it.')
  return asked.map((entry) => requestOf(network, subnets, entry, present))
}

function requestOf(
  network: Network,
  subnets: readonly Subnet[],
  { subnet_id: subnetId, ip_address: text }: RequestedAddress,
  present: readonly string[],
): AddressRequest {
  if (subnetId === undefined && text === undefined)
    throw new Failure('invalid', 'Invalid input for fixed_ips: subnet_id or ip_address is needed.')
  const ip = text === undefined ? undefined : parseIp(text, 'ip_address')
  const subnet = subnets.find(
    ({ id, cidr }) =>
      (subnetId === undefined || id === subnetId) &&
      (ip === undefined || contains(parseCidr(cidr, 'cidr'), ip)),
  )
  if (subnet === undefined)
    throw new Failure(
      'invalid',
      text === undefined
        ? `Failed to create port on network ${network.id}: it has no subnet ${subnetId}.`
        : `IP address ${text} is not a valid IP for any of the subnets on the specified network.`,
    )
  if (ip === undefined) return { subnet, address: null }
  const address = formatIp(ip.version, ip.value)
  if (isAutoAddressed(subnet) && !present.includes(address))
    throw new Failure(
      'invalid',
      `Invalid input for operation: IPv6 address ${address} can not be directly assigned to a port on subnet ${subnet.id} as the subnet is configured for automatic addresses.`,
    )
  checkAddress(subnet, address)
  return { subnet, address }
}
