import type { Executor } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { metadataPort } from '#openapi/wire/metadata-port.ts'
import { holdsFloatingIp } from '../../db/floating-ips.ts'
import type { Port } from '../../db/network.ts'
import { holdsRouter } from '../../db/routers.ts'
import { NetworkFailure } from './network-failure.ts'
import { NO_EXTRAS } from './port-extras.ts'

export const ROUTER_INTERFACE = 'network:router_interface'
export const ROUTER_GATEWAY = 'network:router_gateway'
export const FLOATING_IP = 'network:floatingip'

/** The project of ports that hold a router's gateway or a floating IP: none, as with Neutron, so that users do not see them. */
export const NO_PROJECT = ''

/** Of a router's port: OVN routes wherever a server needs it, so that no host has to plug it in. */
export const ROUTED = 'ACTIVE'
/** Neutron's word for the port of a floating IP, which is in no data plane. */
const NOT_PLUGGED = 'N/A'

/** The prefix of `device_owner` for devices of the network service. */
const OF_NETWORK = 'network:'

/** True for a port of the network service itself, such as a router's interface. */
export function isNetworkOwned({ deviceOwner }: Pick<Port, 'deviceOwner'>): boolean {
  return deviceOwner.startsWith(OF_NETWORK)
}

/**
 * Throws `conflict` for a port of a router, a floating IP or the metadata service, which is removed and changed with its owner. An
 * administrator's port may have such an owner by name alone.
 */
export async function refuseServicePort(db: Executor, port: Port): Promise<void> {
  if (!isNetworkOwned(port)) return
  const isInUse =
    port.id === metadataPort(port.networkId).id ||
    (await holdsRouter(db, port.id)) ||
    (await holdsFloatingIp(db, port.id))
  if (!isInUse) return
  throw new NetworkFailure(
    'conflict',
    'ServicePortInUse',
    `Port ${port.id} cannot be changed or deleted directly via the port API: has device owner ${port.deviceOwner}.`,
  )
}

/** The initial values of a port of the network service, before it has an address. */
export function servicePort({
  now,
  ...device
}: {
  readonly now: Date
  readonly projectId: string
  readonly deviceId: string
  readonly deviceOwner: string
}) {
  return {
    ...device,
    id: newId<string>(),
    name: '',
    description: '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    macAddress: null,
    isUp: true,
    status: device.deviceOwner === FLOATING_IP ? NOT_PLUGGED : ROUTED,
    nicIndex: 0,
    isBootMade: false,
    nicTag: null,
    hostName: '',
    ...NO_EXTRAS,
    hasPortSecurity: false,
    securityGroupIds: [],
  } as const
}
