import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Port } from '../../db/network.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { addressWishes, type RequestedAddress } from './address-wishes.ts'
import { groupsForPort } from './groups-for-port.ts'
import type { Networks } from './networks.ts'
import { type PortDraft as Placement, placePort } from './place-port.ts'
import { checkDevice } from './port-device.ts'
import { isOwner, ownerOf, visibleNetwork } from './visible.ts'

/** A port as requests write it. */
export interface NewPort {
  readonly network_id: string
  readonly name?: string
  readonly description?: string
  readonly project_id?: string
  readonly tenant_id?: string
  readonly admin_state_up?: boolean
  readonly mac_address?: string
  /** Absent: one address per IP version of the network; empty: none. */
  readonly fixed_ips?: readonly RequestedAddress[]
  readonly security_groups?: readonly string[]
  readonly device_id?: string
  readonly device_owner?: string
  readonly port_security_enabled?: boolean
  readonly 'binding:host_id'?: string
}

/** Afterwards the port exists with its addresses. Throws `conflict` when an address is taken or none is left. */
export async function createPort(
  networks: Networks,
  requester: Requester,
  draft: NewPort,
): Promise<Port> {
  const placement = await placementOf(networks, requester, draft)
  return networks.db.transaction((tx) => placePort(tx, placement))
}

async function placementOf(
  networks: Networks,
  requester: Requester,
  draft: NewPort,
): Promise<Placement> {
  const network = await visibleNetwork(networks, requester, draft.network_id)
  const isForeign = !isOwner(requester, network)
  if (network.isExternal && !network.isShared && isForeign)
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
    wishes:
      draft.fixed_ips === undefined
        ? undefined
        : addressWishes(network, subnets, requester, draft.fixed_ips),
    subnets,
  }
}
