import { Failure, isFailure } from '#common/errors.ts'
import { type FloatingIp, floatingIpWith } from '../../../db/floating-ips.ts'
import { updateFloatingIp } from '../../networks/floating-ips.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { Networks } from '../../networks/list-networks.ts'
import type { Requester } from '../../requester.ts'
import { showServer } from '../list/show-server.ts'
import { serverInterfaces } from './server-interfaces.ts'

/** The action `addFloatingIp`. */
export interface AddFloatingIp {
  readonly address: string
  /** Absent: the server's first one of IPv4. */
  readonly fixed_address?: string
}

/**
 * Afterwards the floating IP leads to the server. Failures are Nova's (nova/api/openstack/compute/floating_ips.py):
 * `invalid` if there is no fixed address, or not the named one, and for every refusal of the network service;
 * `not-found` for a missing floating IP.
 */
export async function addFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
  { address, fixed_address: wanted }: AddFloatingIp,
): Promise<void> {
  const ports = await serverInterfaces(networks.db, requester, id)
  const own = ports.flatMap(({ id: portId, fixedIps }) =>
    fixedIps.map((fixedIp) => ({ portId, address: fixedIp.address })),
  )
  const fixed = own.find((each) => {
    return wanted === undefined ? !each.address.includes(':') : each.address === wanted
  })
  if (!own.some((each) => !each.address.includes(':')))
    throw new Failure('invalid', `No fixed IPs associated to instance ${id}.`)
  if (fixed === undefined)
    throw new Failure(
      'invalid',
      `Specified fixed address ${wanted} not assigned to instance ${id}.`,
    )
  const ip = await namedFloatingIp(networks, requester, address)
  try {
    await updateFloatingIp(networks, requester, ip.id, {
      port_id: fixed.portId,
      fixed_ip_address: fixed.address,
    })
  } catch (error) {
    if (!isFailure(error, 'conflict', 'invalid', 'not-found')) throw error
    throw new Failure(
      'invalid',
      `Unable to associate floating IP ${address} to fixed IP ${fixed.address} for instance ${id}. Error: ${error.message}`,
      { cause: error },
    )
  }
}

/** Afterwards the floating IP leads nowhere. Throws `conflict` when it did not lead to the server, `not-found`. */
export async function removeFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
  address: string,
): Promise<void> {
  await showServer(networks.db, requester, id)
  const ip = await namedFloatingIp(networks, requester, address)
  if (ip.fixedPort?.deviceId !== id)
    throw new Failure('conflict', `Floating IP ${address} is not associated with instance ${id}.`)
  await updateFloatingIp(networks, requester, ip.id, { port_id: null })
}

async function namedFloatingIp(
  { db }: Networks,
  { projectId, isAdmin }: Requester,
  text: string,
): Promise<FloatingIp> {
  const address = canonicalIp(text, 'address')
  const found = await floatingIpWith(db, isAdmin ? null : projectId, address)
  if (found === undefined) throw new Failure('not-found', 'floating IP not found')
  return found
}
