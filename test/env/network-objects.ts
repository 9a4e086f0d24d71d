import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { createNetworks, type NetworkDraft } from '#gateway/app/networks/change-networks.ts'
import { createPorts, type NewPort } from '#gateway/app/networks/change-ports.ts'
import { createSubnets, type SubnetDraft } from '#gateway/app/networks/create-subnets.ts'
import { FreeAddresses } from '#gateway/app/networks/free-addresses.ts'
import type { Networks } from '#gateway/app/networks/list-networks.ts'
import { PortKeys } from '#gateway/app/networks/tunnel-keys.ts'
import type { Requester } from '#gateway/app/requester.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import type { Network, Port, Subnet } from '#gateway/db/network.ts'
import type { Cloud } from './cloud.ts'
import { migratedDatabase } from './migrated-database.ts'
import { sampleHost } from './sample-host.ts'

/** Networks in a database of their own, which the caller disposes. */
export async function emptyNetworks(
  name: string,
  connectionsMax: number,
): Promise<{ readonly db: Database; readonly networks: Networks }> {
  const db = new Database({ url: await migratedDatabase(name, 'gateway'), connectionsMax })
  const freeAddresses = new FreeAddresses(systemClock)
  const parts = { clock: systemClock, freeAddresses, portKeys: new PortKeys(), mtuMax: 1500 }
  return { db, networks: { db, ...parts } }
}

/** Afterwards a host of a cell that is not there is known to have the network engine OVN. */
export function reportOvn(db: Database): Promise<void> {
  const physicalNetworks = ['lan', 'physnet1', 'elsewhere', 'other', 'race']
  const host = {
    ...sampleHost('ovn'),
    capabilities: ['network-ovn'],
    network: { encapAddress: '10.255.0.1', physicalNetworks },
  }
  return db.transaction((tx) => applyHostViews(tx, newId<CellId>(), [host]))
}

export async function createNetwork(
  networks: Networks,
  requester: Requester,
  draft: NetworkDraft,
): Promise<Network> {
  return (await createNetworks(networks, requester, [draft]))[0]!
}

export async function createSubnet(
  networks: Networks,
  requester: Requester,
  draft: SubnetDraft,
): Promise<Subnet> {
  return (await createSubnets(networks, requester, [draft]))[0]!
}

export async function createPort(
  networks: Networks,
  requester: Requester,
  draft: NewPort,
): Promise<Port> {
  return (await createPorts(networks, requester, [draft]))[0]!
}

/** Afterwards a cell is known to route, and there is an external network, whose id this is. */
export async function offerRouting(cloud: Cloud): Promise<string> {
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  await reportOvn(db)
  const admin = cloud.as('admin')
  const path = '/networking/v2.0'
  const network = { name: 'public', 'router:external': true }
  const made = await admin.post<{ network: { id: string } }>(`${path}/networks`, { network })
  const { id } = made.body.network
  // A cloud above has the rest, as the how-to asks for: else it would sometimes choose an address that is taken here.
  const allocation_pools = [{ start: '203.0.113.2', end: '203.0.113.99' }]
  const subnet = { network_id: id, ip_version: 4, cidr: '203.0.113.0/24', allocation_pools }
  await admin.post(`${path}/subnets`, { subnet })
  return id
}
