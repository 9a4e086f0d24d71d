import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isRouterNeeded } from '../../../db/floating-ips.ts'
import type { Network, Subnet } from '../../../db/network.ts'
import { holdNetwork } from '../../../db/port-inserts.ts'
import { findPorts } from '../../../db/ports.ts'
import { attachedSubnets, type Router, type RouterGateway } from '../../../db/routers.ts'
import { subnetsOfNetworks } from '../../../db/subnets.ts'
import type { Requester } from '../../requester.ts'
import { addressRequests, type RequestedAddress } from '../address-requests.ts'
import { replaceAddresses } from '../change-ports.ts'
import type { Networks } from '../list-networks.ts'
import { badRequest, NetworkFailure } from '../network-failure.ts'
import { type AddressRequest, placePort } from '../place-port.ts'
import { removePort } from '../release-port.ts'
import { NO_PROJECT, ROUTER_GATEWAY, servicePort } from '../service-ports.ts'
import { visibleNetwork } from '../visible.ts'
import { removeCellGateways } from './cell-gateways.ts'
import type { RouterFields } from './change-routers.ts'
import { refuseOverlap } from './routes.ts'

/** A router's way out as requests write it. */
export interface GatewayFields {
  readonly network_id?: string | null
  readonly enable_snat?: boolean
  readonly external_fixed_ips?: readonly RequestedAddress[]
}

/**
 * Throws `forbidden` for attributes that Neutron reserves for administrators, `invalid` for a router that would not be
 * highly available.
 */
export function refuseAdminFields({ isAdmin }: Requester, fields: RouterFields): void {
  const { enable_snat, external_fixed_ips } = fields.external_gateway_info ?? {}
  const refused = [
    enable_snat === undefined ? '' : 'external_gateway_info:enable_snat',
    external_fixed_ips === undefined ? '' : 'external_gateway_info:external_fixed_ips',
    fields.ha === undefined ? '' : 'ha',
  ].filter((name) => name !== '')
  if (!isAdmin && refused.length > 0)
    throw new Failure('forbidden', `Only an administrator may set ${refused.join(', ')}.`)
  if (fields.ha === false)
    throw new Failure(
      'invalid',
      'Invalid input for ha: a router of OVN moves to another gateway host by itself, which cannot be switched off.',
    )
}

/** The requested change of a router's gateway. */
export interface GatewayChange {
  readonly networks: Networks
  readonly requester: Requester
  /** Locked, or new. */
  readonly router: Router
  /** Undefined: as it is. */
  readonly info: GatewayFields | null | undefined
}

/**
 * Afterwards the router has the requested gateway, which is returned; its row does not have it yet. Throws `not-found`
 * or `invalid` for a network that is missing or not external, `conflict` when floating IPs need the present gateway.
 */
export async function changeGateway(tx: Tx, change: GatewayChange): Promise<RouterGateway | null> {
  const { router, info } = change
  if (info === undefined) return router.gateway
  const networkId = info?.network_id ?? null
  const asked = info?.external_fixed_ips
  if (networkId === null) {
    if (asked !== undefined) throw badRequest('router', 'external_fixed_ips need a network_id')
    await removeGateway(tx, router)
    return null
  }
  // Held, so that it stays external.
  await holdNetwork(tx, networkId)
  const network = await externalNetwork(change, networkId)
  const subnets = await subnetsOfNetworks(tx, [networkId])
  refuseTheirGateways(subnets, asked ?? [])
  const isSame = router.gateway?.networkId === networkId
  if (isSame && (asked === undefined || asked.length === 0)) return router.gateway
  const attached = await attachedSubnets(tx, router.id)
  const present = isSame ? (router.gateway?.fixedIps ?? []).map(({ address }) => address) : []
  const requests =
    asked === undefined || asked.length === 0
      ? undefined
      : addressRequests(network, subnets, ADMINISTRATOR, asked, present)
  if (isSame) return moveGateway(tx, router.gateway!, requests ?? [])
  await removeGateway(tx, router)
  for (const subnet of subnets)
    refuseOverlap(
      subnet,
      attached.map((each) => each.subnet),
    )
  return placeGateway(tx, change, { networkId, subnets, requests })
}

/** Who may ask for addresses is decided before. */
const ADMINISTRATOR = { projectId: null, isAdmin: true } as const

async function externalNetwork(
  { networks, requester }: GatewayChange,
  id: string,
): Promise<Network> {
  const network = await visibleNetwork(networks, requester, id)
  if (network.isExternal) return network
  throw badRequest('router', `Network ${id} is not an external network`)
}

function refuseTheirGateways(subnets: readonly Subnet[], asked: readonly RequestedAddress[]): void {
  for (const { ip_address: address } of asked)
    if (address !== undefined && subnets.some(({ gatewayIp }) => gatewayIp === address))
      throw badRequest('router', `External IP ${address} is the same as the gateway IP`)
}

async function moveGateway(
  tx: Tx,
  gateway: RouterGateway,
  requests: readonly AddressRequest[],
): Promise<RouterGateway> {
  const [port] = await findPorts(tx, [gateway.portId])
  await replaceAddresses(tx, port!, requests)
  const [moved] = await findPorts(tx, [gateway.portId])
  return { ...gateway, fixedIps: moved!.fixedIps }
}

async function placeGateway(
  tx: Tx,
  { networks: { clock }, router }: GatewayChange,
  place: {
    readonly networkId: string
    readonly subnets: readonly Subnet[]
    readonly requests: readonly AddressRequest[] | undefined
  },
): Promise<RouterGateway> {
  const device = { deviceId: router.id, deviceOwner: ROUTER_GATEWAY }
  const blank = servicePort({ now: new Date(clock.now()), projectId: NO_PROJECT, ...device })
  const { id, fixedIps } = await placePort(tx, { ...blank, ...place })
  return { portId: id, networkId: place.networkId, fixedIps }
}

/** Afterwards the router's gateway is gone; its row still names it. Throws `conflict` when floating IPs need it. */
export async function removeGateway(tx: Tx, { id, gateway }: Router): Promise<void> {
  if (gateway === null) return
  if (await isRouterNeeded(tx, id))
    throw new NetworkFailure(
      'conflict',
      'RouterExternalGatewayInUseByFloatingIp',
      `Gateway cannot be updated for router ${id}, since a gateway to external network ${gateway.networkId} is required by one or more floating IPs.`,
    )
  await removeCellGateways(tx, id, gateway.portId)
  const [port] = await findPorts(tx, [gateway.portId])
  if (port !== undefined) await removePort(tx, port)
}
