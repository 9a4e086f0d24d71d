import { callApi, type Session } from '../api/session.ts'

const NETWORK = { name: 'private', shared: true, admin_state_up: true }
const SUBNET = { name: 'private-ipv4', ip_version: 4, cidr: '10.86.0.0/20', enable_dhcp: true }

/** Afterwards a network `private` with an IPv4 subnet exists, which every project may use. */
export async function ensureNetwork(admin: Session): Promise<void> {
  const { networks } = await callApi<{ networks: readonly { id: string; subnets: unknown[] }[] }>(
    admin,
    { method: 'GET', path: `/networking/v2.0/networks?name=${NETWORK.name}` },
  )
  const network =
    networks[0] ??
    (
      await callApi<{ network: { id: string; subnets: unknown[] } }>(admin, {
        method: 'POST',
        path: '/networking/v2.0/networks',
        body: { network: NETWORK },
      })
    ).network
  if (network.subnets.length > 0) return
  await callApi(admin, {
    method: 'POST',
    path: '/networking/v2.0/subnets',
    body: { subnet: { ...SUBNET, network_id: network.id } },
  })
}
