import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Port, Subnet } from '../../../db/network.ts'
import { holdNetwork } from '../../../db/port-inserts.ts'
import { findPorts, updatePort } from '../../../db/ports.ts'
import { networksSharedWith } from '../../../db/rbac-policies.ts'
import {
  type AttachedSubnet,
  attachedSubnets,
  insertInterface,
  type Router,
} from '../../../db/routers.ts'
import { bindPort } from '../../../db/server-ports.ts'
import { findSubnet, subnetsOfNetworks } from '../../../db/subnets.ts'
import type { Requester } from '../../requester.ts'
import { claimAddress } from '../allocate-address.ts'
import { changeablePort } from '../change-ports.ts'
import type { Networks } from '../list-networks.ts'
import { badRequest, NetworkFailure } from '../network-failure.ts'
import { placePort } from '../place-port.ts'
import { ROUTED, ROUTER_INTERFACE, servicePort } from '../service-ports.ts'
import { isOwner, visibleSubnet } from '../visible.ts'
import { lockedRouter, ownRouter } from './find-routers.ts'
import { refuseOverlap, subnetAlreadyAttached } from './routes.ts'

/** The subnet or port by which a request names an interface of a router. */
export interface InterfaceFields {
  readonly subnet_id?: string
  readonly port_id?: string
}

/** An interface that was added or removed. */
export interface RouterInterface {
  readonly routerId: string
  readonly port: Pick<Port, 'id' | 'projectId' | 'networkId'>
  readonly subnetIds: readonly string[]
}

/**
 * Afterwards the subnet, or those of the port, are on the router. Throws `invalid` for a subnet without a gateway address or that
 * overlaps another of the router, `conflict` for a port or an address in use.
 */
export async function addInterface(
  networks: Networks,
  requester: Requester,
  routerId: string,
  { subnet_id: subnetId, port_id: portId }: InterfaceFields,
): Promise<RouterInterface> {
  await ownRouter(networks, requester, routerId)
  if (subnetId !== undefined && portId !== undefined)
    throw badRequest('router', 'Cannot specify both subnet-id and port-id')
  if (subnetId !== undefined) {
    const subnet = await attachableSubnet(networks, requester, subnetId)
    return networks.db.transaction(async (tx) => {
      // The subnet may have been deleted, or got another gateway, since it was read.
      await holdNetwork(tx, subnet.networkId)
      const found = await findSubnet(tx, subnet.id)
      if (found === undefined)
        throw new Failure('not-found', `Subnet ${subnet.id} could not be found.`)
      return addSubnet(tx, networks, routerId, attachable(found))
    })
  }
  if (portId === undefined)
    throw badRequest('router', 'Either subnet_id or port_id must be specified')
  const port = await changeablePort(networks, requester, portId)
  return networks.db.transaction((tx) => takePort(tx, networks, routerId, port))
}

function attachable(subnet: Subnet): Subnet {
  if (subnet.gatewayIp !== null) return subnet
  throw badRequest('router', 'Subnet for router interface must have a gateway IP')
}

async function attachableSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Subnet> {
  const subnet = await visibleSubnet(networks, requester, id)
  attachable(subnet)
  if (isOwner(requester, subnet)) return subnet
  const { networkId } = subnet
  // A project with which a network is shared by name may route it; a network that is shared with all projects may only
  // be routed by its own.
  if ((await networksSharedWith(networks.db, requester.projectId, [networkId])).size > 0)
    return subnet
  throw badRequest(
    'router',
    `Cannot add interface to router because subnet ${id} is not owned by project making the request`,
  )
}

/** Afterwards the subnet, which has a gateway address, is on the router. Throws as `addInterface`. */
export async function addSubnet(
  tx: Tx,
  { clock }: Networks,
  routerId: string,
  subnet: Subnet,
): Promise<RouterInterface> {
  const router = await lockedRouter(tx, routerId)
  const attached = await attachedSubnets(tx, routerId)
  await refuseAttached(tx, router, attached, [subnet])
  const address = subnet.gatewayIp!
  // Several IPv6 subnets of one network share a port, as one router advertises all of them there.
  const shared =
    subnet.ipVersion === 6
      ? attached.find(({ subnet: { ipVersion, networkId } }) => {
          return ipVersion === 6 && networkId === subnet.networkId
        })
      : undefined
  if (shared !== undefined) {
    await claimAddress(tx, subnet, shared.portId, address)
    const [port] = await findPorts(tx, [shared.portId])
    return attach(tx, routerId, port!, [subnet])
  }
  const device = { deviceId: routerId, deviceOwner: ROUTER_INTERFACE }
  const { projectId } = router
  const port = await placePort(tx, {
    ...servicePort({ now: new Date(clock.now()), projectId, ...device }),
    networkId: subnet.networkId,
    subnets: [subnet],
    requests: [{ subnet, address }],
  })
  return attach(tx, routerId, port, [subnet])
}

async function takePort(
  tx: Tx,
  { clock }: Networks,
  routerId: string,
  { id: portId, networkId, deviceId }: Port,
): Promise<RouterInterface> {
  const router = await lockedRouter(tx, routerId)
  const isTaken = await bindPort(tx, {
    portId,
    deviceId: routerId,
    deviceOwner: ROUTER_INTERFACE,
    nicIndex: 0,
    nicTag: null,
    now: new Date(clock.now()),
  })
  if (!isTaken)
    throw new NetworkFailure(
      'conflict',
      'PortInUse',
      `Unable to complete operation on port ${portId} for network ${networkId}. Port already has an attached device ${deviceId}.`,
    )
  const [taken] = await findPorts(tx, [portId])
  await updatePort(tx, { ...taken!, status: ROUTED }, new Date(clock.now()))
  const [routed] = await findPorts(tx, [portId])
  const port = routed!
  const all = await subnetsOfNetworks(tx, [networkId])
  const subnets = all.filter(({ id }) => port.fixedIps.some(({ subnetId }) => subnetId === id))
  if (subnets.length === 0)
    throw badRequest('router', 'Router port must have at least one fixed IP')
  if (subnets.filter(({ ipVersion }) => ipVersion === 4).length > 1)
    throw badRequest('router', 'Cannot have multiple IPv4 subnets on router port')
  await refuseAttached(tx, router, await attachedSubnets(tx, routerId), subnets)
  return attach(tx, routerId, port, subnets)
}

async function attach(
  tx: Tx,
  routerId: string,
  port: RouterInterface['port'],
  subnets: readonly Subnet[],
): Promise<RouterInterface> {
  for (const { id } of subnets)
    if (!(await insertInterface(tx, { routerId, subnetId: id, portId: port.id })))
      throw subnetAlreadyAttached(id)
  return { routerId, port, subnetIds: subnets.map(({ id }) => id) }
}

async function refuseAttached(
  tx: Tx,
  { gateway }: Router,
  attached: readonly AttachedSubnet[],
  added: readonly Subnet[],
): Promise<void> {
  const outside = gateway === null ? [] : await subnetsOfNetworks(tx, [gateway.networkId])
  const others = [...attached.map(({ subnet }) => subnet), ...outside]
  for (const subnet of added) {
    refuseOverlap(subnet, others)
    if (subnet.ipv6AddressMode !== null && subnet.ipv6RaMode === null)
      throw badRequest(
        'router',
        `IPv6 subnet ${subnet.id} configured to receive RAs from an external router cannot be added to Neutron Router`,
      )
  }
}
