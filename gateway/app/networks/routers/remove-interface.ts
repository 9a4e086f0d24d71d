import type { Tx } from '#common/db/database.ts'
import { isRouterNeeded } from '../../../db/floating-ips.ts'
import type { Subnet } from '../../../db/network.ts'
import { releaseAddress } from '../../../db/port-addresses.ts'
import { findPorts } from '../../../db/ports.ts'
import {
  type AttachedSubnet,
  attachedSubnets,
  deleteInterfaces,
  type Router,
} from '../../../db/routers.ts'
import type { Requester } from '../../requester.ts'
import type { Networks } from '../list-networks.ts'
import { badRequest, NetworkFailure } from '../network-failure.ts'
import { removePort } from '../release-port.ts'
import { lockedRouter, ownRouter } from './find-routers.ts'
import type { InterfaceFields, RouterInterface } from './interfaces.ts'
import { leadsOver } from './routes.ts'

/**
 * Afterwards the subnet, or all subnets of the port, are not on the router; the port is removed with its last subnet.
 * Throws `not-found` for a subnet or port that is not on the router, `conflict` while floating IPs or routes need it.
 */
export async function removeInterface(
  networks: Networks,
  requester: Requester,
  routerId: string,
  asked: InterfaceFields,
): Promise<RouterInterface> {
  await ownRouter(networks, requester, routerId)
  if (asked.subnet_id === undefined && asked.port_id === undefined)
    throw badRequest('router', 'Either subnet_id or port_id must be specified')
  return networks.db.transaction(async (tx) => {
    const router = await lockedRouter(tx, routerId)
    const attached = await attachedSubnets(tx, routerId)
    const removed = named(routerId, attached, asked)
    return detach(tx, router, attached, removed)
  })
}

/**
 * Afterwards those subnets of the attached ones, all by one port, are not on the router, which the transaction holds. Throws `conflict`
 * while floating IPs or routes need it.
 */
export async function detach(
  tx: Tx,
  router: Router,
  attached: readonly AttachedSubnet[],
  removed: readonly AttachedSubnet[],
): Promise<RouterInterface> {
  for (const { subnet } of removed) await refuseNeeded(tx, router, subnet)
  const { portId } = removed[0]!
  const [port] = await findPorts(tx, [portId])
  const subnetIds = removed.map(({ subnet }) => subnet.id)
  await deleteInterfaces(tx, router.id, subnetIds)
  const left = attached.filter((each) => each.portId === portId).length - removed.length
  if (left === 0) await removePort(tx, port!)
  else
    for (const { subnet, address } of removed)
      await releaseAddress(tx, { subnetId: subnet.id, address, portId })
  return { routerId: router.id, port: port!, subnetIds }
}

function named(
  routerId: string,
  attached: readonly AttachedSubnet[],
  { subnet_id: subnetId, port_id: portId }: InterfaceFields,
): readonly AttachedSubnet[] {
  const ofPort = attached.filter((each) => each.portId === portId)
  if (portId !== undefined) {
    if (ofPort.length === 0)
      throw new NetworkFailure(
        'not-found',
        'RouterInterfaceNotFound',
        `Router ${routerId} does not have an interface with id ${portId}`,
      )
    if (subnetId === undefined || ofPort.some(({ subnet }) => subnet.id === subnetId)) return ofPort
    throw new NetworkFailure(
      'invalid',
      'SubnetMismatchForPort',
      `Subnet on port ${portId} does not match the requested subnet ${subnetId}.`,
    )
  }
  const onSubnet = attached.filter(({ subnet }) => subnet.id === subnetId)
  if (onSubnet.length > 0) return onSubnet
  throw new NetworkFailure(
    'not-found',
    'RouterInterfaceNotFoundForSubnet',
    `Router ${routerId} has no interface on subnet ${subnetId}`,
  )
}

async function refuseNeeded(tx: Tx, router: Router, subnet: Subnet): Promise<void> {
  const refused = `Router interface for subnet ${subnet.id} on router ${router.id} cannot be deleted, as it is required by one or more`
  if (await isRouterNeeded(tx, router.id, subnet.id))
    throw new NetworkFailure(
      'conflict',
      'RouterInterfaceInUseByFloatingIP',
      `${refused} floating IPs.`,
    )
  if (leadsOver(router, subnet))
    throw new NetworkFailure('conflict', 'RouterInterfaceInUseByRoute', `${refused} routes.`)
}
