import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Network, Port, Subnet } from '../../db/network.ts'
import { findNetworks, networksForBoot } from '../../db/networks.ts'
import { findPorts } from '../../db/ports.ts'
import { networksSharedWith } from '../../db/rbac-policies.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { checkAddress } from './allocate-address.ts'
import { autoTopology } from './auto-topology.ts'
import { contains, parseCidr, parseIp } from './ip.ts'
import type { Networks } from './list-networks.ts'
import type { NicPlan, NicRequest, PlannedNic, RequestedNic } from './nic-request.ts'
import { groupsForBoot } from './port-groups.ts'
import { isOwner, projectOf } from './visible.ts'

/** The objects to which the NICs of a request refer. */
interface Known {
  readonly networks: ReadonlyMap<string, Network>
  readonly subnets: ReadonlyMap<string, readonly Subnet[]>
  readonly ports: ReadonlyMap<string, Port>
  /** Networks of others that may be used, whether all share them or this project alone. */
  readonly shared: ReadonlySet<string>
}

/**
 * Decides the NICs of a new server from the networks and ports as they are now; writes nothing but a missing default
 * group, and a network where one is to be allocated. Failures and words are Nova's (nova/network/neutron.py `validate_networks`): `invalid` for ports and
 * networks that cannot be used, `conflict` for a port in use or an ambiguous choice, `forbidden` for an external
 * network.
 */
export async function planNics(
  networks: Networks,
  requester: Requester,
  request: NicRequest,
): Promise<NicPlan> {
  const projectId = projectOf(requester)
  const nics = await planned(networks, requester, request)
  const needsGroups = nics.some((nic) => nic.kind === 'new')
  const securityGroups = await groupsForBoot(
    networks,
    projectId,
    request.securityGroups,
    needsGroups,
  )
  return { projectId, nics, securityGroups }
}

async function planned(
  networks: Networks,
  requester: Requester,
  request: NicRequest,
): Promise<readonly PlannedNic[]> {
  const { networks: asked } = request
  if (asked === 'none') return []
  if (asked === undefined || asked === 'auto' || asked.length === 0)
    return onlyNetwork(networks, requester, asked === 'auto')
  refuseForMany(asked, request.serversMax)
  const known = await lookUp(networks, requester, asked)
  return asked.map((nic) => {
    const tag = nic.tag ?? null
    if (nic.portId !== undefined) return existingNic(known, requester, nic.portId, tag)
    return newNic(known, requester, nic, tag)
  })
}

/** Without a request there must be at most one network; a server of a project without networks gets no NIC. */
async function onlyNetwork(
  networks: Networks,
  requester: Requester,
  mustHave: boolean,
): Promise<readonly PlannedNic[]> {
  const projectId = projectOf(requester)
  const [network, second] = await networksForBoot(networks.db, projectId, 2)
  if (second !== undefined)
    throw new Failure(
      'conflict',
      'Multiple possible networks found, use a Network ID to be more specific.',
    )
  if (network === undefined) {
    if (!mustHave) return []
    return allocatedNetwork(networks, requester, projectId)
  }
  const subnets = await subnetsOfNetworks(networks.db, [network.id])
  const isOthers = network.projectId !== projectId
  refuseUnusable(network, subnets, requester.isAdmin || network.isShared || isOthers)
  return [{ kind: 'new', network, subnets, fixedIp: null, tag: null }]
}

/** Nova asks for the topology when a host builds the server; here its ports are made with it. */
async function allocatedNetwork(
  networks: Networks,
  requester: Requester,
  projectId: string,
): Promise<readonly PlannedNic[]> {
  try {
    const { networkId } = await autoTopology(networks, requester, projectId)
    const [network] = await findNetworks(networks.db, [networkId])
    const subnets = await subnetsOfNetworks(networks.db, [networkId])
    return [{ kind: 'new', network: network!, subnets, fixedIp: null, tag: null }]
  } catch (error) {
    if (!isFailure(error, 'conflict', 'unsupported')) throw error
    throw new Failure(
      'invalid',
      `Unable to automatically allocate a network for project ${projectId}`,
      { cause: error },
    )
  }
}

function refuseForMany(asked: readonly RequestedNic[], serversMax: number): void {
  if (serversMax <= 1) return
  if (asked.some((nic) => nic.fixedIp !== undefined))
    throw new Failure(
      'invalid',
      'Failed to launch instances: max_count cannot be greater than 1 if 1 fixed_ip is specified.',
    )
  if (asked.some((nic) => nic.portId !== undefined))
    throw new Failure(
      'invalid',
      'Unable to launch multiple instances with a single configured port ID. ' +
        'Please launch your instance one by one with different ports.',
    )
}

async function lookUp(
  networks: Networks,
  requester: Requester,
  asked: readonly RequestedNic[],
): Promise<Known> {
  const ports = await findPorts(networks.db, uuids(asked.map((nic) => nic.portId)))
  const wanted = [...asked.map((nic) => nic.networkId), ...ports.map((port) => port.networkId)]
  const ids = [...new Set(uuids(wanted))]
  const [found, subnets] = await Promise.all([
    findNetworks(networks.db, ids),
    subnetsOfNetworks(networks.db, ids),
  ])
  const foreign = found.filter((network) => !isOwner(requester, network))
  const [open, others] = [
    foreign.filter(({ isShared }) => isShared),
    foreign.filter(({ isShared }) => !isShared),
  ]
  const { projectId } = requester
  const own = await networksSharedWith(
    networks.db,
    projectId,
    others.map(({ id }) => id),
  )
  return {
    shared: new Set([...open.map(({ id }) => id), ...own]),
    networks: new Map(found.map((network) => [network.id, network])),
    subnets: Map.groupBy(subnets, (subnet) => subnet.networkId),
    ports: new Map(ports.map((port) => [port.id, port])),
  }
}

function uuids(ids: readonly (string | undefined)[]): readonly string[] {
  return ids.filter((id) => id !== undefined && isUuid(id)) as readonly string[]
}

function existingNic(
  known: Known,
  requester: Requester,
  portId: string,
  tag: string | null,
): PlannedNic {
  const port = known.ports.get(portId)
  const network = port === undefined ? undefined : known.networks.get(port.networkId)
  if (port === undefined || network === undefined || !isOwner(requester, port))
    throw new Failure('invalid', `Port id ${portId} could not be found.`)
  if (port.deviceId !== '') throw new Failure('conflict', `Port ${portId} is still in use.`)
  if (port.fixedIps.length === 0)
    throw new Failure('invalid', `Port ${portId} requires a FixedIP in order to be used.`)
  return { kind: 'existing', port, network, subnets: known.subnets.get(network.id) ?? [], tag }
}

function newNic(
  known: Known,
  requester: Requester,
  nic: RequestedNic,
  tag: string | null,
): PlannedNic {
  const id = nic.networkId ?? ''
  const network = known.networks.get(id)
  const isVisible =
    network !== undefined &&
    (isOwner(requester, network) || known.shared.has(id) || network.isExternal)
  if (!isVisible) throw new Failure('invalid', `Network ${id} could not be found.`)
  const subnets = known.subnets.get(id) ?? []
  refuseUnusable(network, subnets, requester.isAdmin || known.shared.has(id))
  const fixedIp = nic.fixedIp === undefined ? null : fixedIpOn(network, subnets, nic.fixedIp)
  return { kind: 'new', network, subnets, fixedIp, tag }
}

function refuseUnusable(network: Network, subnets: readonly Subnet[], mayUse: boolean): void {
  if (network.isExternal && !mayUse)
    throw new Failure(
      'forbidden',
      `It is not allowed to create an interface on external network ${network.id}`,
    )
  if (subnets.length === 0)
    throw new Failure(
      'invalid',
      `Network ${network.id} requires a subnet in order to boot instances on.`,
    )
}

function fixedIpOn(network: Network, subnets: readonly Subnet[], address: string) {
  const ip = parseIp(address, 'fixed_ip')
  const subnet = subnets.find(({ cidr }) => contains(parseCidr(cidr, 'cidr'), ip))
  if (subnet === undefined)
    throw new Failure(
      'invalid',
      `Fixed IP ${address} is not a valid ip address for network ${network.id}.`,
    )
  checkAddress(subnet, address)
  return { subnet, address }
}
