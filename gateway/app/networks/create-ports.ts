import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Port } from '../../db/network.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { addressRequests } from './address-requests.ts'
import { groupsForPort } from './groups-for-port.ts'
import type { Networks } from './networks.ts'
import { type PortDraft as Placement, placePort } from './place-port.ts'
import { checkDevice } from './port-device.ts'
import type { PortFields } from './port-fields.ts'
import { isOwner, mayUse, ownerOf, visibleNetwork } from './visible.ts'

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
