import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '../api/session.ts'

/** A network of the demo, and its subnet. */
interface DemoNetwork {
  readonly network: { readonly name: string; readonly [attribute: string]: unknown }
  readonly subnet: object
}

const PRIVATE: DemoNetwork = {
  network: { name: 'private', shared: true, admin_state_up: true },
  subnet: { name: 'private-ipv4', ip_version: 4, cidr: '10.86.0.0/20', enable_dhcp: true },
}

const MAPPED_LIMIT_MS = 60_000

/** Afterwards a network `private` with an IPv4 subnet exists, which every project may use. */
export async function ensureNetwork(admin: Session): Promise<void> {
  await ensure(admin, PRIVATE)
}

/** The same, on this physical network, once a host maps it. Machines reach no other. */
export async function ensureSiteNetwork(admin: Session, physicalNetwork: string): Promise<void> {
  const { network, subnet } = PRIVATE
  await ensureMapped(admin, physicalNetwork, {
    network: { ...network, mtu: 1_500, ...flat(physicalNetwork) },
    subnet,
  })
}

/** Afterwards an external network `public` exists on this physical network, for routers and floating IPs. */
export async function ensureExternalNetwork(
  admin: Session,
  { physicalNetwork, cidr, gateway }: ExternalNetwork,
): Promise<void> {
  await ensureMapped(admin, physicalNetwork, {
    network: { name: 'public', 'router:external': true, mtu: 1_500, ...flat(physicalNetwork) },
    subnet: { name: 'public-ipv4', ip_version: 4, cidr, gateway_ip: gateway, enable_dhcp: false },
  })
}

function flat(physicalNetwork: string): object {
  return { 'provider:network_type': 'flat', 'provider:physical_network': physicalNetwork }
}

async function ensureMapped(
  admin: Session,
  physicalNetwork: string,
  wanted: DemoNetwork,
): Promise<void> {
  // A cell says a moment after its hosts are up which networks they map.
  const outcome = await waitFor(
    `a host to map ${physicalNetwork}`,
    () => ensure(admin, wanted).then(() => 'made' as const, unlessUnmapped),
    MAPPED_LIMIT_MS,
  )
  if (outcome !== 'made') throw outcome
}

/** Nothing for the refusal that ends once a host has said what it maps. */
function unlessUnmapped(error: Error): Error | undefined {
  return error.message.includes('unknown for flat provider network') ? undefined : error
}

export interface ExternalNetwork {
  readonly physicalNetwork: string
  readonly cidr: string
  /** Where routers send what leaves the cloud. */
  readonly gateway: string
}

async function ensure(admin: Session, { network: wanted, subnet }: DemoNetwork): Promise<void> {
  const path = '/networking/v2.0/networks'
  const { networks } = await callApi<{ networks: readonly { id: string; subnets: unknown[] }[] }>(
    admin,
    { method: 'GET', path: `${path}?name=${wanted.name}` },
  )
  const network =
    networks[0] ??
    (
      await callApi<{ network: { id: string; subnets: unknown[] } }>(admin, {
        method: 'POST',
        path,
        body: { network: wanted },
      })
    ).network
  if (network.subnets.length > 0) return
  await callApi(admin, {
    method: 'POST',
    path: '/networking/v2.0/subnets',
    body: { subnet: { ...subnet, network_id: network.id } },
  })
}
