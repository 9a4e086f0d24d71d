import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { subnetsOfNetworks } from '../../../db/subnets.ts'
import { updatePort } from '../../networks/change-ports.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Networks } from '../../networks/list-networks.ts'
import type { Requester } from '../../requester.ts'
import { showServer } from '../list/show-server.ts'
import { serverInterfaces } from './server-interfaces.ts'

/** Afterwards the server's first port on the network has one more address. Throws `not-found`, `invalid`, `conflict`. */
export async function addFixedIp(
  networks: Networks,
  requester: Requester,
  id: string,
  networkId: string,
): Promise<void> {
  const ports = await serverInterfaces(networks.db, requester, id)
  const port = ports.find((each) => each.networkId === networkId)
  const [subnet] = await subnetsOfNetworks(networks.db, [networkId])
  if (port === undefined || subnet === undefined)
    throw new Failure('invalid', `Network not found for instance ${id}: ${networkId}`)
  await updatePort(networks, requester, port.id, {
    fixed_ips: [...addressesOf(port.fixedIps), { subnet_id: subnet.id }],
  })
}

/** Afterwards the server does not have the address. Throws `invalid` for one it never had. */
export async function removeFixedIp(
  networks: Networks,
  requester: Requester,
  id: string,
  text: string,
): Promise<void> {
  const address = canonicalIp(text, 'address')
  const ports = await serverInterfaces(networks.db, requester, id)
  const port = ports.find(({ fixedIps }) => fixedIps.some((ip) => ip.address === address))
  if (port === undefined)
    throw new Failure('invalid', `Fixed IP ${address} not found on instance ${id}.`)
  await updatePort(networks, requester, port.id, {
    fixed_ips: addressesOf(port.fixedIps.filter((ip) => ip.address !== address)),
  })
}

/**
 * Throws `not-found`, for want of routers and so of floating IPs. With `added`, first what Nova says of a server that none
 * could be given (nova/api/openstack/compute/floating_ips.py): `invalid` without a fixed address, or without the one named.
 */
export async function refuseFloatingIp(
  db: Executor,
  requester: Requester,
  id: string,
  added: { readonly fixed_address?: string } | undefined,
): Promise<never> {
  const { addresses } = await showServer(db, requester, id)
  const own = Object.values(addresses).flat()
  if (added !== undefined) {
    if (!own.some(({ version }) => version === 4))
      throw new Failure('invalid', `No fixed IPs associated to instance ${id}.`)
    const wanted = added.fixed_address
    if (wanted !== undefined && !own.some(({ addr }) => addr === wanted))
      throw new Failure(
        'invalid',
        `Specified fixed address ${wanted} not assigned to instance ${id}.`,
      )
  }
  throw new Failure('not-found', 'floating IP not found')
}

function addressesOf(fixedIps: readonly { readonly subnetId: string; readonly address: string }[]) {
  return fixedIps.map(({ subnetId, address }) => ({ subnet_id: subnetId, ip_address: address }))
}
