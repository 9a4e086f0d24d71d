import { Failure } from '#common/errors.ts'
import { subnetsOfNetworks } from '../../../db/subnets.ts'
import { updatePort } from '../../networks/change-ports.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Networks } from '../../networks/list-networks.ts'
import type { Requester } from '../../requester.ts'
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

function addressesOf(fixedIps: readonly { readonly subnetId: string; readonly address: string }[]) {
  return fixedIps.map(({ subnetId, address }) => ({ subnet_id: subnetId, ip_address: address }))
}
