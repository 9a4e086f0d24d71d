import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import {
  createNetwork,
  createPort,
  createSubnet,
  emptyNetworks,
} from '#test/env/network-objects.ts'
import { deletePort } from './change-ports.ts'
import type { Networks } from './list-networks.ts'

const requester = { projectId: 'a'.repeat(32), isAdmin: true }
let db: Database
let networks: Networks

beforeAll(async () => {
  ;({ db, networks } = await emptyNetworks('free-addresses', 4))
})

afterAll(() => db?.[Symbol.asyncDispose]())

async function subnetOf(cidr: string, ip_version: 4 | 6 = 4) {
  const { id } = await createNetwork(networks, requester, {})
  return createSubnet(networks, requester, { network_id: id, cidr, ip_version })
}

test('addresses are given out once, and never one that a port has or had just now', async () => {
  const subnet = await subnetOf('10.1.0.0/29')
  const draft = { network_id: subnet.networkId }
  const taken = await createPort(networks, requester, draft)
  const given = await createPort(networks, requester, draft)
  await deletePort(networks, requester, given.id)
  const gone = [taken, given].map(({ fixedIps }) => fixedIps[0]!.address)

  const found: string[] = []
  for (let left = 3; left > 0; left -= 1) {
    const [free] = (await networks.freeAddresses.take(db, subnet, 1)) ?? []
    if (free !== undefined) found.push(free.address)
  }

  expect(new Set(found).size).toBe(found.length)
  expect(found.length).toBeGreaterThan(0)
  for (const address of found) {
    expect(address).toMatch(/^10\.1\.0\.[2-6]$/)
    expect(gone).not.toContain(address)
  }
})

test('addresses beyond those one query finds are not given out, nor those of a full subnet', async () => {
  const wide = await subnetOf('10.2.0.0/16')
  const full = await subnetOf('10.3.0.0/30')
  await createPort(networks, requester, { network_id: full.networkId })

  expect(await networks.freeAddresses.take(db, wide, 1_000)).toBeUndefined()
  expect(await networks.freeAddresses.take(db, full, 1)).toBeUndefined()
})

test('many who ask at once share the question, and get an address each', async () => {
  const subnet = await subnetOf('fd00:1:2:3::/64', 6)

  const found = await Promise.all(
    Array.from({ length: 20 }, () => networks.freeAddresses.take(db, subnet, 2)),
  )

  const addresses = found.flatMap((each) => each?.map(({ address }) => address) ?? [])
  expect(new Set(addresses).size).toBe(40)
})
