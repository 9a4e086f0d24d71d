import type { Tx } from '#common/db/database.ts'
import { type FloatingIp, floatingIpOfPort } from '../../db/floating-ips.ts'
import type { FixedIp, Port } from '../../db/network.ts'
import { cellsOfPorts, type PortForwarding } from '../../db/port-forwardings.ts'
import { holdRouterTo } from '../../db/routers.ts'
import { routingHostOf } from '../../db/routing-hosts.ts'
import { findSubnet } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { holdVisiblePort } from './floating-ip-association.ts'
import { canonicalIp } from './ip.ts'
import { badRequest, NetworkFailure } from './network-failure.ts'

interface Asked {
  readonly ip: FloatingIp
  /** The other forwardings of the floating IP. */
  readonly others: readonly PortForwarding[]
  readonly portId: string
  /** Undefined: the port's first. */
  readonly address: string | undefined
}

/**
 * Where a forwarding leads, and through which router; port and router cannot change until the transaction ends. Throws, in
 * Neutron's words, `not-found` for a port that the requester does not see, `invalid` for an address that is not the port's
 * and for a port that no router, or another one, connects, `conflict` for a port with a floating IP, for a server in a
 * cloud with routers of its own, and for one in another cell.
 */
export async function destinationOf(
  tx: Tx,
  requester: Requester,
  { ip, others, portId, address: wanted }: Asked,
): Promise<Pick<PortForwarding, 'portId' | 'address' | 'routerId'>> {
  const port = await holdVisiblePort(tx, requester, portId)
  const { subnetId, address } = fixedIpOf(port, wanted)
  const own = await floatingIpOfPort(tx, portId)
  if (own !== undefined)
    throw new NetworkFailure(
      'conflict',
      'PortHasBindingFloatingIP',
      `Cannot create port forwarding to floating IP ${own.address} (${own.id}) with port ${portId} using fixed IP ${address}, as that port already has a binding floating IP.`,
    )
  const subnet = await findSubnet(tx, subnetId)
  const routerId = subnet && (await holdRouterTo(tx, subnet, ip.networkId))
  if (routerId === undefined)
    throw badRequest(
      'port_forwarding',
      `External network ${ip.networkId} is not reachable from subnet ${subnetId}. Cannot set Port forwarding for port ${portId} with Floating IP ${ip.id}`,
    )
  const elsewhere = others.find((each) => each.routerId !== routerId)
  if (elsewhere !== undefined)
    throw badRequest(
      'port_forwarding',
      `The Floating IP ${ip.id} had been set on router ${elsewhere.routerId}, the internal Neutron port ${portId} can not reach it`,
    )
  await refuseUnreachable(tx, ip, port, others)
  return { portId, address, routerId }
}

function fixedIpOf({ id, fixedIps }: Port, wanted: string | undefined): FixedIp {
  const four = fixedIps.filter(({ address }) => !address.includes(':'))
  const [first] = four
  if (first === undefined)
    throw badRequest(
      'port_forwarding',
      `Requested internal port ${id} must allocate an IPv4 address at least`,
    )
  if (wanted === undefined) return first
  const canonical = canonicalIp(wanted, 'internal_ip_address')
  const found = four.find(({ address }) => address === canonical)
  if (found !== undefined) return found
  const own = four.map(({ address }) => address).join(', ')
  throw badRequest(
    'port_forwarding',
    `Requested internal IP address ${wanted} is not suitable for internal neutron port ${id}, as its fixed_ips are ${own}`,
  )
}

/** One cell answers for the floating IP, by its OVN: its router would not see the answers of servers elsewhere. */
async function refuseUnreachable(
  tx: Tx,
  { address }: FloatingIp,
  port: Port,
  others: readonly PortForwarding[],
): Promise<void> {
  const host = await routingHostOf(tx, port.deviceId)
  if (host !== undefined)
    throw unreachable(
      address,
      port,
      `its server is on host ${host.name}, a cloud in which port forwardings are not made. Associate a floating IP with the port`,
    )
  const ids = [port.id, ...others.map(({ portId }) => portId)]
  if ((await cellsOfPorts(tx, ids)).length > 1)
    throw unreachable(
      address,
      port,
      'other ports of the floating IP are forwarded to servers of another cell. Take another floating IP',
    )
}

function unreachable(address: string, { id }: Port, why: string): NetworkFailure {
  return new NetworkFailure(
    'conflict',
    'PortForwardingUnreachable',
    `Ports of floating IP ${address} cannot be forwarded to port ${id}: ${why}.`,
  )
}
