import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Network, Port, SecurityGroup, Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { findPorts } from '../../db/ports.ts'
import { networksSharedWith } from '../../db/rbac-policies.ts'
import { findSecurityGroup } from '../../db/security-groups.ts'
import { findSubnet } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'

/**
 * The project whose objects a list shows: null for a requester who sees all. Throws `forbidden` for a requester without
 * a project.
 */
export function scopeOf(requester: Requester): string | null {
  if (requester.isAdmin) return null
  return projectOf(requester)
}

/** The project new objects belong to. */
export function projectOf(requester: Requester): string {
  if (requester.projectId !== null) return requester.projectId
  throw new Failure('forbidden', 'This request needs a token that is scoped to a project.')
}

/** The network, if the requester may see it; else `not-found`. */
export async function visibleNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Network> {
  const [network] = isUuid(id) ? await findNetworks(networks.db, [id]) : []
  if (network === undefined || !(await mayKnow(networks, requester, network)))
    throw new Failure('not-found', `Network ${id} could not be found.`)
  return network
}

async function mayKnow(networks: Networks, requester: Requester, network: Network) {
  return network.isExternal || (await mayUse(networks, requester, network))
}

/** Whether the requester may put ports on the network: it is his, or shared with his project or all. */
export async function mayUse(
  { db }: Networks,
  requester: Requester,
  network: Network,
): Promise<boolean> {
  if (network.isShared || isOwner(requester, network)) return true
  return (await networksSharedWith(db, requester.projectId, [network.id])).size > 0
}

/** The network, if the requester may change it: `forbidden` where he only sees it. */
export async function ownNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Network> {
  const network = await visibleNetwork(networks, requester, id)
  if (!isOwner(requester, network)) throw notAllowed('network', id)
  return network
}

/** The subnet, if the requester owns it or sees its network; else `not-found`. */
export async function visibleSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Subnet> {
  const subnet = isUuid(id) ? await findSubnet(networks.db, id) : undefined
  if (subnet !== undefined && isOwner(requester, subnet)) return subnet
  const [network] = subnet === undefined ? [] : await findNetworks(networks.db, [subnet.networkId])
  if (
    subnet === undefined ||
    network === undefined ||
    !(await mayKnow(networks, requester, network))
  )
    throw new Failure('not-found', `Subnet ${id} could not be found.`)
  return subnet
}

/** The subnet, if the requester may change it: `forbidden` if it is only visible. */
export async function ownSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Subnet> {
  const subnet = await visibleSubnet(networks, requester, id)
  if (!isOwner(requester, subnet)) throw notAllowed('subnet', id)
  return subnet
}

/** The port, if it is the requester's or on his network; else `not-found`. */
export async function visiblePort(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Port> {
  const [port] = isUuid(id) ? await findPorts(networks.db, [id]) : []
  if (port !== undefined && isOwner(requester, port)) return port
  const [network] = port === undefined ? [] : await findNetworks(networks.db, [port.networkId])
  if (port === undefined || network === undefined || !isOwner(requester, network))
    throw new Failure('not-found', `Port ${id} could not be found.`)
  return port
}

/** The security group, if it is the requester's; else `not-found`. */
export async function ownSecurityGroup(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<SecurityGroup> {
  const group = isUuid(id) ? await findSecurityGroup(networks.db, id) : undefined
  if (group === undefined || !isOwner(requester, group))
    throw new Failure('not-found', `Security group ${id} does not exist`)
  return group
}

/** True for objects of the requester's project, and for administrators. */
export function isOwner(requester: Requester, object: { readonly projectId: string }): boolean {
  return requester.isAdmin || object.projectId === requester.projectId
}

/** The owner of a new object; throws `forbidden` for another project's, except for administrators. */
export function ownerOf(requester: Requester, asked: string | undefined): string {
  if (asked === undefined || asked === requester.projectId) return asked ?? projectOf(requester)
  if (requester.isAdmin) return asked
  throw new Failure('forbidden', 'Only an administrator may set another project_id.')
}

function notAllowed(what: string, id: string): Failure {
  return new Failure('forbidden', `You are not permitted to change ${what} ${id}.`)
}
