import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { isDuplicate, isMissing } from '#common/db/failures.ts'
import { newId } from '#common/ids.ts'
import {
  createNetwork,
  createPort,
  createSubnet,
  emptyNetworks,
} from '#test/env/network-objects.ts'
import { quotaRows, setQuotaLimits } from '../../db/network-quotas.ts'
import { deleteNetwork } from './change-networks.ts'
import { deletePort } from './change-ports.ts'
import { createSecurityGroup, deleteSecurityGroup } from './change-security-group.ts'
import type { Networks } from './list-networks.ts'
import { listPorts } from './list-ports.ts'
import { planNics } from './plan-nics.ts'
import { NotPlaced, quickNics } from './quick-nics.ts'

const projectId = 'a'.repeat(32)
const requester = { projectId, isAdmin: false }
let db: Database
let networks: Networks

beforeAll(async () => {
  ;({ db, networks } = await emptyNetworks('quick-nics', 4))
})

afterAll(() => db?.[Symbol.asyncDispose]())

async function networkWith(cidr: string) {
  const { id } = await createNetwork(networks, requester, {})
  await createSubnet(networks, requester, { network_id: id, cidr, ip_version: 4 })
  return id
}

/** What makes the NICs of a boot on the network. */
async function boot(networkId: string, securityGroups: readonly string[] = []) {
  const request = { networks: [{ networkId }], securityGroups, serversMax: 1 }
  const plan = await planNics(networks, requester, request)
  const quick = (await quickNics(networks, plan, 1))!
  const server = { serverId: newId<string>(), zone: '', nicsBefore: 0, now: new Date() }
  return () =>
    db.transaction((tx) => {
      const [nic] = quick.place(tx, server)
      quick.charge(tx, 1)
      return nic!.port
    })
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )
const portsOn = async (networkId: string) =>
  (await listPorts(networks, requester, [['network_id', networkId]])).items
const portsUsed = async () =>
  (await quotaRows(db, projectId)).find(({ resource }) => resource === 'port')?.used

test('NICs made at once have the ports that were promised, and each is counted', async () => {
  const networkId = await networkWith('10.1.0.0/24')
  await createPort(networks, requester, { network_id: networkId })
  const before = (await portsUsed())!
  const boots = await Promise.all(Array.from({ length: 5 }, () => boot(networkId)))

  const made = await Promise.all(boots.map((begin) => begin()))

  const found = await portsOn(networkId)
  for (const { id, fixedIps, macAddress, securityGroupIds } of made)
    expect(found).toContainEqual(
      expect.objectContaining({ id, fixedIps, macAddress, securityGroupIds }),
    )
  expect(await portsUsed()).toBe(before + 5)
})

test('one that passes the limit leaves none behind, and the others are made', async () => {
  const networkId = await networkWith('10.2.0.0/24')
  const boots = await Promise.all(Array.from({ length: 4 }, () => boot(networkId)))
  const limit = (await portsUsed())! + 3
  await db.transaction((tx) => setQuotaLimits(tx, projectId, { port: limit }))

  const results = await Promise.all(boots.map((begin) => failureOf(begin())))

  expect(results.filter((failure) => failure instanceof NotPlaced)).toHaveLength(1)
  expect(await portsOn(networkId)).toHaveLength(3)
  expect(await portsUsed()).toBe(limit)
  await db.transaction((tx) => setQuotaLimits(tx, projectId, { port: -1 }))
})

test('a network or security group that went meanwhile gets no port', async () => {
  const [first, second] = [await networkWith('10.3.0.0/24'), await networkWith('10.4.0.0/24')]
  const group = await createSecurityGroup(networks, requester, { name: 'going' })
  const onNetwork = await boot(first)
  const inGroup = await boot(second, [group.id])
  await deleteNetwork(networks, requester, first)
  await deleteSecurityGroup(networks, requester, group.id)

  expect(await failureOf(onNetwork())).toBeInstanceOf(NotPlaced)
  expect(await failureOf(inGroup())).toMatchObject({
    kind: 'not-found',
    message: `Security group ${group.id} does not exist`,
  })
  expect(await portsOn(second)).toEqual([])
})

test('an address that another port took, or gave back, meanwhile is refused', async () => {
  const networkId = await networkWith('10.5.0.0/30')
  const taken = await boot(networkId)
  const port = await createPort(networks, requester, { network_id: networkId })
  expect(isDuplicate(await failureOf(taken()))).toBe(true)
  await deletePort(networks, requester, port.id)

  expect(isMissing(await failureOf(taken()))).toBe(true)
  expect(await portsOn(networkId)).toEqual([])
})
