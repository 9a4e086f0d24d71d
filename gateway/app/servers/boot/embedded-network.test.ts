import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { createNetwork, createSubnet } from '#test/env/network-objects.ts'
import { FreeAddresses } from '../../networks/free-addresses.ts'
import type { Networks } from '../../networks/list-networks.ts'
import { PortKeys } from '../../networks/tunnel-keys.ts'
import { embeddedNetwork, planEmbeddedNics } from './embedded-network.ts'

const requester = { projectId: 'p'.repeat(32), isAdmin: false }
let networks: Networks

beforeAll(async () => {
  const url = await migratedDatabase('embedded-network', 'gateway')
  const freeAddresses = new FreeAddresses(systemClock)
  const db = new Database({ url, connectionsMax: 4 })
  networks = { db, clock: systemClock, freeAddresses, portKeys: new PortKeys(), mtuMax: 1500 }
})
afterAll(() => networks?.db[Symbol.asyncDispose]())

async function networkWith(cidr: string): Promise<string> {
  const { id } = await createNetwork(networks, requester, {})
  await createSubnet(networks, requester, { network_id: id, cidr, ip_version: 4 })
  return id
}

test('a server is on the networks of its NICs, each once and in their order', async () => {
  const { db } = networks
  const [first, second] = [await networkWith('10.1.0.0/24'), await networkWith('10.2.0.0/24')]
  const wanted = [second, first, second].map((networkId) => ({ networkId }))
  const request = { networks: wanted, securityGroups: [], serversMax: 1 }
  const plan = await planEmbeddedNics(networks, requester, request)
  const serverId = newId<string>()
  await db.transaction((tx) => plan.allocate(tx, serverId, 'nova'))

  const found = await embeddedNetwork(networks).networksOf(db, serverId)

  expect(found).toEqual(plan.networks)
  expect(found.map(({ id }) => id)).toEqual([second, first])
  expect(await embeddedNetwork(networks).networksOf(db, newId())).toEqual([])
})
