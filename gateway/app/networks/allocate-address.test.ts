import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import {
  createNetwork,
  createPort,
  createSubnet,
  emptyNetworks,
} from '#test/env/network-objects.ts'
import type { Subnet } from '../../db/network.ts'
import { addressesOnSubnet } from '../../db/ports.ts'
import { purgeReleasedAddresses } from '../../db/released-addresses.ts'
import { releasedAddresses } from '../../db/schema/network.ts'
import { allocateAddress, claimAddress } from './allocate-address.ts'
import { deleteNetwork } from './change-networks.ts'
import { deletePort } from './change-ports.ts'
import type { Networks } from './list-networks.ts'
import { listPorts } from './list-ports.ts'
import { deleteSubnet } from './subnets.ts'

const requester = { projectId: 'a'.repeat(32), isAdmin: true }
let db: Database
let networks: Networks

beforeAll(async () => {
  ;({ db, networks } = await emptyNetworks('allocate-address', 16))
})

afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
})

async function subnetOf(cidr: string, ip_version: 4 | 6 = 4): Promise<Subnet> {
  const network = await createNetwork(networks, requester, { name: cidr })
  return createSubnet(networks, requester, { network_id: network.id, cidr, ip_version })
}

test('ports made at once get every address of the subnet, each once, and then a clear refusal', async () => {
  const subnet = await subnetOf('10.1.0.0/27')
  const draft = { network_id: subnet.networkId }

  const results = await Promise.allSettled(
    Array.from({ length: 40 }, () => createPort(networks, requester, draft)),
  )

  const addresses = results.flatMap((result) =>
    result.status === 'fulfilled' ? result.value.fixedIps.map((ip) => ip.address) : [],
  )
  const refusals = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as Error] : [],
  )
  // 32 less the network, the gateway and broadcast.
  expect(new Set(addresses).size).toBe(29)
  expect(addresses).toHaveLength(29)
  expect(addresses).not.toContain('10.1.0.0')
  expect(addresses).not.toContain('10.1.0.1')
  expect(addresses).not.toContain('10.1.0.31')
  expect(refusals).toHaveLength(11)
  for (const refusal of refusals) expect(isFailure(refusal, 'conflict')).toBe(true)
  expect(refusals[0]?.message).toBe(
    `No more IP addresses available on network ${subnet.networkId}.`,
  )
})

test('an address is free again as soon as its port is deleted', async () => {
  const subnet = await subnetOf('10.2.0.0/30')
  const draft = { network_id: subnet.networkId }
  const first = await createPort(networks, requester, draft)
  await expect(createPort(networks, requester, draft)).rejects.toThrow('No more IP addresses')

  await deletePort(networks, requester, first.id)
  const second = await createPort(networks, requester, draft)

  expect(second.fixedIps).toEqual(first.fixedIps)
})

test('a subnet that went since it was read gives no port an address', async () => {
  const subnet = await subnetOf('10.9.0.0/24')
  await deleteSubnet(networks, requester, subnet.id)

  const any = await db.transaction((tx) => allocateAddress(tx, subnet, newId()))

  expect(any).toBeUndefined()
  await expect(
    db.transaction((tx) => claimAddress(tx, subnet, newId(), '10.9.0.7')),
  ).rejects.toThrow('10.9.0.7')
  expect(await addressesOnSubnet(db, subnet.id)).toEqual([])
})

test('a refused port leaves nothing behind', async () => {
  const subnet = await subnetOf('10.3.0.0/30')
  const draft = { network_id: subnet.networkId }
  await createPort(networks, requester, draft)
  await expect(createPort(networks, requester, draft)).rejects.toThrow('No more IP addresses')

  const { items: left } = await listPorts(networks, requester, [['network_id', subnet.networkId]])

  expect(left).toHaveLength(1)
})

test('an address outside the pools can be claimed, once', async () => {
  const network = await createNetwork(networks, requester, {})
  const subnet = await createSubnet(networks, requester, {
    network_id: network.id,
    cidr: '10.4.0.0/24',
    ip_version: 4,
    allocation_pools: [{ start: '10.4.0.100', end: '10.4.0.101' }],
  })
  const draft = {
    network_id: network.id,
    fixed_ips: [{ subnet_id: subnet.id, ip_address: '10.4.0.7' }],
  }

  const port = await createPort(networks, requester, draft)

  expect(port.fixedIps).toEqual([{ subnetId: subnet.id, address: '10.4.0.7' }])
  await expect(createPort(networks, requester, draft)).rejects.toThrow('already allocated')
})

test('IPv6 subnets hand out addresses above 2^53', async () => {
  const subnet = await subnetOf('fd00:1:2:3::/64', 6)

  const ports = await Promise.all(
    Array.from({ length: 8 }, () =>
      createPort(networks, requester, { network_id: subnet.networkId }),
    ),
  )

  const addresses = ports.map((port) => port.fixedIps[0]?.address)
  expect(new Set(addresses).size).toBe(8)
  for (const address of addresses) expect(address).toMatch(/^fd00:1:2:3:/)
})

test('the port quota holds for ports made at once', async () => {
  const projectId = newId<string>().replaceAll('-', '')
  const member = { projectId, isAdmin: false }
  const network = await createNetwork(networks, member, {})
  const draft = { network_id: network.id }
  await db.orm.execute(
    `insert into network_quotas (project_id, resource, used, hard_limit) values ('${projectId}', 'port', 0, 5)`,
  )

  const results = await Promise.allSettled(
    Array.from({ length: 12 }, () => createPort(networks, member, draft)),
  )

  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(5)
  const [refused] = results.filter((result) => result.status === 'rejected')
  expect(isFailure(refused?.reason, 'over-quota')).toBe(true)
  expect((await listPorts(networks, member, [])).items).toHaveLength(5)
})

test('a network deleted while ports are made on it is either kept or leaves no port', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { networkId } = await subnetOf('10.5.0.0/24')
    const making = Array.from({ length: 4 }, () =>
      createPort(networks, requester, { network_id: networkId }),
    )
    const results = await Promise.allSettled([
      ...making,
      deleteNetwork(networks, requester, networkId),
    ])

    const { items: ports } = await listPorts(networks, requester, [['network_id', networkId]])
    const made = results.slice(0, -1).filter((result) => result.status === 'fulfilled')
    expect(ports).toHaveLength(made.length)
    if (results.at(-1)?.status === 'fulfilled') expect(ports).toEqual([])
  }
})

test('an address just given back rests: others are handed out first, then the one that rested longest', async () => {
  const subnet = await subnetOf('10.6.0.0/28')
  const draft = { network_id: subnet.networkId }
  const make = async () => createPort(networks, requester, draft)
  const addressOf = (port: Awaited<ReturnType<typeof make>>) => port.fixedIps[0]?.address
  const before = [await make(), await make(), await make(), await make()]
  for (const port of before) await deletePort(networks, requester, port.id)

  // 16 less the network, the gateway and broadcast: nine have never been used.
  const fresh = [await make()]
  while (fresh.length < 9) fresh.push(await make())
  const again = [await make(), await make(), await make(), await make()]

  const rested = before.map(addressOf)
  expect(fresh.map(addressOf).filter((address) => rested.includes(address))).toEqual([])
  expect(again.map(addressOf)).toEqual(rested)
  await expect(make()).rejects.toThrow('No more IP addresses')
})

test('an address is not known as resting once its rest is over', async () => {
  const subnet = await subnetOf('10.7.0.0/28')
  const draft = { network_id: subnet.networkId }
  const port = await createPort(networks, requester, draft)
  await deletePort(networks, requester, port.id)

  const early = await purgeReleasedAddresses(db, 10_000)
  await db.orm.update(releasedAddresses).set({ releasedAt: new Date(Date.now() - 121_000) })
  const late = await purgeReleasedAddresses(db, 10_000)

  expect(early).toBe(0)
  expect(late).toBeGreaterThan(0)
})
