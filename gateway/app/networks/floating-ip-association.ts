import type { Tx } from '#common/db/database.ts'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { FloatingIp } from '../../db/floating-ips.ts'
import type { FixedIp, Port } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { findPorts, holdPort } from '../../db/ports.ts'
import { holdRouterTo } from '../../db/routers.ts'
import { routingHostOf } from '../../db/routing-hosts.ts'
import { findSubnet } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import type { FloatingIpFields } from './floating-ips.ts'
import { canonicalIp } from './ip.ts'
import { badRequest, NetworkFailure } from './network-failure.ts'
import { refuseUnroutable } from './refuse-unroutable.ts'
import { isOwner } from './visible.ts'

/** The owner of a floating IP: all three, or none. */
export type Association = Pick<
  FloatingIp,
  'fixedPortId' | 'fixedAddress' | 'routerId' | 'reportedStatus' | 'problem'
>

/** Of a floating IP that leads to no port. */
export const FREE: Association = {
  fixedPortId: null,
  fixedAddress: null,
  routerId: null,
  reportedStatus: null,
  problem: null,
}

/** Owners of ports that answer for the network itself (neutron/common/utils.py). */
const NOT_SERVED: ReadonlySet<string> = new Set(['network:dhcp', METADATA_PORT_OWNER])

/**
 * The future owner of the floating IP; the port and the router cannot change until the transaction ends. Throws, in
 * Neutron's words (neutron/db/l3_db.py), `not-found` for a missing port or one that no router connects with the
 * external network, `invalid` for a port of another project, or without exactly one possible IPv4 address, `conflict` for a server
 * in a cloud that could never have the floating IP.
 */
export async function associationOf(
  tx: Tx,
  requester: Requester,
  ip: FloatingIp,
  { port_id: asked, fixed_ip_address: wanted = null }: FloatingIpFields,
): Promise<Association> {
  const { fixedPortId, fixedAddress, routerId, reportedStatus, problem } = ip
  const portId = asked === undefined ? fixedPortId : asked
  if (portId === null) {
    if (wanted === null) return FREE
    throw badRequest('floatingip', 'fixed_ip_address cannot be specified without a port_id')
  }
  const present = { fixedPortId, fixedAddress, routerId, reportedStatus, problem }
  if (asked === undefined && wanted === null) return present
  const port = await associable(tx, requester, ip, portId)
  const { subnetId, address } = fixedIpOf(port, wanted)
  const subnet = await findSubnet(tx, subnetId)
  const router = subnet && (await holdRouterTo(tx, subnet, ip.networkId))
  if (router === undefined)
    throw new NetworkFailure(
      'not-found',
      'ExternalGatewayForFloatingIPNotFound',
      `External network ${ip.networkId} is not reachable from subnet ${subnetId}.  Therefore, cannot associate Port ${portId} with a Floating IP.`,
    )
  const next = { fixedPortId: portId, fixedAddress: address, routerId: router }
  if (portId === fixedPortId && address === fixedAddress) return { ...present, ...next }
  const host = await routingHostOf(tx, port.deviceId)
  const [network] = await findNetworks(tx, [ip.networkId])
  if (host !== undefined && network !== undefined) refuseUnroutable(host, network, ip.address)
  return { ...next, reportedStatus: host === undefined ? null : 'DOWN', problem: null }
}

async function associable(
  tx: Tx,
  requester: Requester,
  { projectId }: FloatingIp,
  portId: string,
): Promise<Port> {
  const port = await holdVisiblePort(tx, requester, portId)
  if (port.projectId !== projectId && !requester.isAdmin)
    throw badRequest(
      'floatingip',
      `Cannot process floating IP association with Port ${portId}, since that port is owned by a different project`,
    )
  if (NOT_SERVED.has(port.deviceOwner))
    throw badRequest('floatingip', `Port ${portId} is unable to be assigned a floating IP`)
  return port
}

/** The port, which stays until the transaction ends; `not-found` if the requester does not see it. */
export async function holdVisiblePort(tx: Tx, requester: Requester, id: string): Promise<Port> {
  const [port] = (await holdPort(tx, id)) ? await findPorts(tx, [id]) : []
  if (port === undefined || !(await isVisible(tx, requester, port))) throw portNotFound(id)
  return port
}

async function isVisible(tx: Tx, requester: Requester, port: Port): Promise<boolean> {
  if (isOwner(requester, port)) return true
  const [network] = await findNetworks(tx, [port.networkId])
  return network !== undefined && isOwner(requester, network)
}

function fixedIpOf(port: Port, wanted: string | null): FixedIp {
  if (wanted !== null) return fixedIpWith(port, canonicalIp(wanted, 'fixed_ip_address'))
  const [only, second] = port.fixedIps.filter(({ address }) => isFour(address))
  if (only === undefined)
    throw badRequest(
      'floatingip',
      `Cannot add floating IP to port ${port.id} that has no fixed IPv4 addresses`,
    )
  if (second === undefined) return only
  throw badRequest(
    'floatingip',
    `Port ${port.id} has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP`,
  )
}

function fixedIpWith(port: Port, wanted: string): FixedIp {
  if (!isFour(wanted))
    throw badRequest(
      'floatingip',
      `Cannot process floating IP association with ${wanted}, since that is not an IPv4 address`,
    )
  const found = port.fixedIps.find(({ address }) => address === wanted)
  if (found !== undefined) return found
  throw badRequest('floatingip', `Port ${port.id} does not have fixed ip ${wanted}`)
}

/** Another floating IP of the network is the fixed address's. */
export function alreadyAssociated(ip: FloatingIp): NetworkFailure {
  return new NetworkFailure(
    'conflict',
    'FloatingIPPortAlreadyAssociated',
    `Cannot associate floating IP ${ip.address} (${ip.id}) with port ${ip.fixedPortId} using fixed IP ${ip.fixedAddress}, as that fixed IP already has a floating IP on external network ${ip.networkId}.`,
  )
}

function isFour(address: string): boolean {
  return !address.includes(':')
}

function portNotFound(id: string): NetworkFailure {
  return new NetworkFailure('not-found', 'PortNotFound', `Port ${id} could not be found.`)
}
