import type { Tx } from '#common/db/database.ts'
import type { Subnet } from '../../db/network.ts'
import { releaseAddress } from '../../db/port-addresses.ts'
import { addressesOnSubnet, lockPortsOnNetwork, type PortOnNetwork } from '../../db/ports.ts'
import { claimAddress } from './allocate-address.ts'
import { eui64Address } from './ip.ts'
import { showServerNics } from './machine-nics.ts'
import { isServerPort } from './port-device.ts'
import { isNetworkOwned } from './service-ports.ts'

/**
 * Afterwards every port of the network, except those of routers and of the service itself, has an address on the new
 * subnet: the one that its guest configures when the prefix is advertised. Part of a transaction that holds the
 * network.
 */
export async function addAutoAddresses(tx: Tx, subnet: Subnet): Promise<void> {
  const ports = await lockPortsOnNetwork(tx, subnet.networkId)
  const concerned = ports.filter((port) => !isNetworkOwned(port))
  for (const { id, macAddress } of concerned)
    await claimAddress(tx, subnet, id, eui64Address(subnet, macAddress))
  await showServersOf(tx, concerned)
}

/** Afterwards no port has an address of the subnet. Part of a transaction that holds the network. */
export async function removeAutoAddresses(tx: Tx, subnet: Subnet): Promise<void> {
  const ports = await lockPortsOnNetwork(tx, subnet.networkId)
  for (const address of await addressesOnSubnet(tx, subnet.id)) await releaseAddress(tx, address)
  await showServersOf(tx, ports)
}

async function showServersOf(tx: Tx, ports: readonly PortOnNetwork[]): Promise<void> {
  const servers = new Set(ports.filter(isServerPort).map(({ deviceId }) => deviceId))
  for (const serverId of servers) await showServerNics(tx, serverId)
}
