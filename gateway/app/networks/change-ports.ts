import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { disassociateLost } from '../../db/floating-ips.ts'
import type { FixedIp, Network, Port, Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { releaseAddress } from '../../db/port-addresses.ts'
import { holdNetwork, queueGroupBindings, unbindGroups } from '../../db/port-inserts.ts'
import { findPorts, updatePort as writePort } from '../../db/ports.ts'
import { StaleRevision } from '../../db/stale-revision.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { addressRequests } from './address-requests.ts'
import type { Networks } from './list-networks.ts'
import { showServerNics } from './machine-nics.ts'
import {
  type AddressRequest,
  allocateRequested,
  type PortDraft as Placement,
  placePort,
} from './place-port.ts'
import { checkDevice, isServerPort, refuseDetaching } from './port-device.ts'
import { extrasOf, NO_EXTRAS } from './port-extras.ts'
import type { PortFields } from './port-fields.ts'
import { groupsForPort } from './port-groups.ts'
import { refuseWithoutEffect } from './refuse-without-effect.ts'
import { removePort } from './release-port.ts'
import { holdRevision } from './revision.ts'
import { refuseServicePort } from './service-ports.ts'
import { isOwner, mayUse, ownerOf, visibleNetwork, visiblePort } from './visible.ts'

export interface NewPort extends PortFields {
  readonly network_id: string
  readonly project_id?: string
  readonly tenant_id?: string
  readonly mac_address?: string
}

/** Afterwards all of these ports exist with their addresses, or none. Throws `conflict` when an address is taken or none is left. */
export async function createPorts(
  networks: Networks,
  requester: Requester,
  drafts: readonly NewPort[],
): Promise<readonly Port[]> {
  const placements: Placement[] = []
  for (const draft of drafts) placements.push(await placementOf(networks, requester, draft))
  return networks.db.transaction(async (tx) => {
    const made: Port[] = []
    for (const placement of placements) made.push(await placePort(tx, placement))
    return made
  })
}

async function placementOf(
  networks: Networks,
  requester: Requester,
  draft: NewPort,
): Promise<Placement> {
  const network = await visibleNetwork(networks, requester, draft.network_id)
  const isForeign = !isOwner(requester, network)
  if (network.isExternal && !(await mayUse(networks, requester, network)))
    throw new Failure(
      'forbidden',
      `You are not permitted to create ports on network ${network.id}.`,
    )
  if (draft.mac_address !== undefined && isForeign)
    throw new Failure('forbidden', 'Only the owner of the network may choose a mac_address on it.')
  checkDevice(requester, draft)
  const projectId = ownerOf(requester, draft.project_id ?? draft.tenant_id)
  const hasPortSecurity = draft.port_security_enabled ?? network.hasPortSecurity
  const subnets = await subnetsOfNetworks(networks.db, [network.id])
  const now = new Date(networks.clock.now())
  return {
    id: newId(),
    projectId,
    name: draft.name ?? '',
    description: draft.description ?? '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    networkId: network.id,
    macAddress: draft.mac_address?.toLowerCase() ?? null,
    isUp: draft.admin_state_up ?? true,
    status: 'DOWN',
    deviceId: draft.device_id ?? '',
    deviceOwner: draft.device_owner ?? '',
    nicIndex: 0,
    isBootMade: false,
    nicTag: null,
    hostName: draft['binding:host_id'] ?? '',
    hasPortSecurity,
    ...(await extrasOf(networks, requester, network, { ...NO_EXTRAS, hasPortSecurity }, draft)),
    securityGroupIds: await groupsForPort(
      networks,
      projectId,
      hasPortSecurity,
      draft.security_groups,
    ),
    requests:
      draft.fixed_ips === undefined
        ? undefined
        : addressRequests(network, subnets, requester, draft.fixed_ips),
    subnets,
  }
}

/**
 * Afterwards the port has these fields, addresses and groups. Throws `conflict` for an address that is taken,
 * `invalid` for a further group where groups have no effect.
 */
export function updatePort(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    change: PortFields,
    wantedRevision?: number | undefined,
  ]
): Promise<Port> {
  return retryStale(networks.clock, () => changePort(networks, ...asked))
}

async function changePort(
  networks: Networks,
  requester: Requester,
  id: string,
  change: PortFields,
  wantedRevision?: number,
): Promise<Port> {
  const before = await changeablePort(networks, requester, id)
  if (movesPort(change)) await refuseServicePort(networks.db, before)
  refuseDetaching(requester, before, change)
  checkDevice(requester, change)
  const [network] = await findNetworks(networks.db, [before.networkId])
  const changed = withChange(before, change)
  const after = {
    ...changed,
    ...(await extrasOf(networks, requester, network as Network, changed, change)),
  }
  if (
    !after.hasPortSecurity &&
    after.securityGroupIds.length > 0 &&
    change.security_groups === undefined
  )
    throw new Failure(
      'conflict',
      'Port has security group associated. Cannot disable port security until they are removed.',
    )
  const groups = await groupsAfter(networks, after, change)
  const isNew = (group: string) => !before.securityGroupIds.includes(group)
  if (isServerPort(before) && groups?.some(isNew))
    await refuseWithoutEffect(networks, before.deviceId)
  const requests = await requestsAfter(networks, requester, before, change)
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'ports', id, wantedRevision)
    await writePort(tx, after, new Date(networks.clock.now()))
    if (groups !== undefined) {
      await unbindGroups(tx, id)
      queueGroupBindings(tx, id, groups)
    }
    if (requests !== undefined) await replaceAddresses(tx, before, requests)
    for (const serverId of serversOf(before, after)) await showServerNics(tx, serverId)
  })
  const [written] = await findPorts(networks.db, [id])
  if (written === undefined) throw new Failure('not-found', `Port ${id} could not be found.`)
  return written
}

/** True where the port would have other addresses or another device. */
function movesPort({ fixed_ips, device_id, device_owner }: PortFields): boolean {
  return [fixed_ips, device_id, device_owner].some((value) => value !== undefined)
}

/** Servers that show something of the port, before or after. */
function serversOf(...ports: readonly Port[]): ReadonlySet<string> {
  return new Set(ports.filter(isServerPort).map(({ deviceId }) => deviceId))
}

/** The port, if the requester may change it: his own, or any as administrator. */
export async function changeablePort(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Port> {
  const port = await visiblePort(networks, requester, id)
  if (isOwner(requester, port)) return port
  throw new Failure('forbidden', `You are not permitted to change port ${id}.`)
}

function withChange(port: Port, change: PortFields): Port {
  return {
    ...port,
    name: change.name ?? port.name,
    description: change.description ?? port.description,
    isUp: change.admin_state_up ?? port.isUp,
    deviceId: change.device_id ?? port.deviceId,
    deviceOwner: change.device_owner ?? port.deviceOwner,
    hasPortSecurity: change.port_security_enabled ?? port.hasPortSecurity,
    hostName: change['binding:host_id'] ?? port.hostName,
  }
}

async function groupsAfter(
  networks: Networks,
  port: Port,
  change: PortFields,
): Promise<readonly string[] | undefined> {
  if (change.security_groups === undefined) return undefined
  return groupsForPort(networks, port.projectId, port.hasPortSecurity, change.security_groups)
}

async function requestsAfter(
  networks: Networks,
  requester: Requester,
  port: Port,
  change: PortFields,
): Promise<readonly AddressRequest[] | undefined> {
  if (change.fixed_ips === undefined) return undefined
  const [network] = await findNetworks(networks.db, [port.networkId])
  const subnets = await subnetsOfNetworks(networks.db, [port.networkId])
  const present = port.fixedIps.map(({ address }) => address)
  return addressRequests(network as Network, subnets, requester, change.fixed_ips, present)
}

/** Addresses that the port has and requests again stay allocated to it throughout. */
export async function replaceAddresses(
  tx: Tx,
  port: Port,
  requests: readonly AddressRequest[],
): Promise<void> {
  await holdNetwork(tx, port.networkId)
  const left = [...requests]
  for (const fixedIp of port.fixedIps) {
    const kept = left.findIndex((request) => isMetBy(request, fixedIp))
    if (kept === -1) await releaseAddress(tx, { ...fixedIp, portId: port.id })
    else left.splice(kept, 1)
  }
  await allocateRequested(tx, port, left)
  await disassociateLost(tx, port.id)
}

function isMetBy(request: { subnet: Subnet; address: string | null }, fixedIp: FixedIp): boolean {
  if (request.subnet.id !== fixedIp.subnetId) return false
  return request.address === null || request.address === fixedIp.address
}

/** Afterwards the port is gone and its addresses are free. Throws `conflict` while a server has it. */
export function deletePort(
  networks: Networks,
  ...asked: [requester: Requester, id: string, wantedRevision?: number]
): Promise<void> {
  return retryStale(networks.clock, () => removeUnusedPort(networks, ...asked))
}

async function removeUnusedPort(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const port = await changeablePort(networks, requester, id)
  // A guest that still uses the address must not share it with the next port.
  if (isServerPort(port))
    throw new Failure(
      'conflict',
      `Port ${id} is in use by server ${port.deviceId}: delete the server or detach the port first.`,
    )
  await refuseServicePort(networks.db, port)
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'ports', id, wantedRevision)
    if (!(await removePort(tx, port))) throw new StaleRevision(`Port ${id}`)
  })
}
