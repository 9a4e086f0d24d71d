import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Transactional, Tx } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { CrashingDatabase } from '#common/saga/testing.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import { createNetwork, createPort, createSubnet } from '#test/env/network-objects.ts'
import { findServerGroup, insertServerGroup } from '../../../db/server-groups.ts'
import { FreeAddresses } from '../../networks/free-addresses.ts'
import type { Networks } from '../../networks/list-networks.ts'
import { PortKeys } from '../../networks/tunnel-keys.ts'
import type { RunningCompute } from '../../open-compute.ts'
import { planEmbeddedNics } from './embedded-network.ts'
import { startServers } from './start-servers.ts'

let env: CoreEnv
let core: RunningCompute

beforeAll(async () => {
  env = await CoreEnv.open('boot', ['north', 'south'])
  core = await env.core()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

const isActive = ({ vmState }: { vmState: string }) => vmState === 'active'

test('a server that is accepted is built in its cell and shown as the cell says', async () => {
  const order = orderFor(env.cells[0]!)
  const { id } = order.servers[0]!.row

  const [run] = await startServers(core, work(), order)

  // It may be active by the time that it is read.
  expect(await env.server(id)).toMatchObject({ cellId: env.cells[0]!.id })
  expect(await run!.finished).toBe('done')
  const server = await env.until(id, isActive)
  expect(server).toMatchObject({ attempt: 1, version: 2, host: 'north-host-1', powerState: 1 })
  // A cell that is slow to answer is asked again, for the same operation.
  const builds = env.cells[0]!.builds.filter((build) => build.operation.serverId === id)
  expect(new Set(builds.map(({ operation }) => operation.id)).size).toBe(1)
})

test('a boot costs two durable commits: one before the answer, one at the cell’s', async () => {
  const counting = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, 'after')
  // Never the feed's leaseholder here: batched feed writes are counted apart.
  await using other = await env.core({ db: counting })
  const order = orderFor(env.cells[0]!)
  const before = counting.transactions

  const [run] = await startServers(other, work(), order)
  const atAnswer = counting.transactions - before
  await run!.finished

  expect(atAnswer).toBe(1)
  expect(counting.transactions - before).toBe(2)
})

interface Counted {
  commits: number
  waits: number
}

/** Counts transactions and the answers that are waited for in them, of what runs in `counts` and not beside it. */
function countingWaits(db: Transactional) {
  const counts = new AsyncLocalStorage<Counted>()
  const waited = new Set<string | symbol>(['run', 'rows', 'flush', 'orm'])
  const countedTx = (tx: Tx, counted: Counted) =>
    new Proxy(tx, {
      get: (target, name) => {
        if (waited.has(name)) counted.waits += 1
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  const counting = new CrashingDatabase(db, Number.POSITIVE_INFINITY, 'after')
  const transaction = counting.transaction.bind(counting)
  counting.transaction = (run) => {
    const counted = counts.getStore()
    if (counted === undefined) return transaction(run)
    counted.commits += 1
    return transaction((tx) => run(countedTx(tx, counted)))
  }
  return { counting, counts }
}

async function onNetwork(addresses: FreeAddresses) {
  const owner = { projectId: newId<string>().replaceAll('-', ''), isAdmin: false }
  const networks: Networks = {
    db: env.db,
    clock: systemClock,
    freeAddresses: addresses,
    portKeys: new PortKeys(),
    mtuMax: 1_500,
  }
  const network = await createNetwork(networks, owner, {})
  const draft = { network_id: network.id, cidr: '10.1.0.0/16', ip_version: 4 } as const
  const subnet = await createSubnet(networks, owner, draft)
  // The project's first use of ports and servers makes the rows that count them.
  await createPort(networks, owner, { network_id: network.id })
  const plan = () =>
    planEmbeddedNics(networks, owner, {
      networks: [{ networkId: network.id }],
      securityGroups: [],
      serversMax: 1,
    })
  const order = async () =>
    orderFor(env.cells[0]!, { projectId: owner.projectId, nics: await plan() })
  return { networks, subnet, order }
}

test('a boot on a network waits for no answer before the one commit that accepts it', async () => {
  const { order } = await onNetwork(new FreeAddresses(systemClock))
  const { counting, counts } = countingWaits(env.db)
  await using other = await env.core({ db: counting })
  // The project's first server makes the rows that count them.
  await startServers(other, work(), await order())
  const next = await order()

  const counted = { commits: 0, waits: 0 }
  const atAnswer = await counts.run(counted, async () => {
    await startServers(other, work(), next)
    return { ...counted }
  })

  expect(atAnswer).toEqual({ commits: 1, waits: 0 })
  const server = await env.server(next.servers[0]!.row.id)
  expect(Object.values(server!.addresses).flat()).toMatchObject([
    { addr: expect.stringMatching(/^10\.1\./) as string },
  ])
})

test('a boot into a group waits for no answer before that commit either', async () => {
  const { order } = await onNetwork(new FreeAddresses(systemClock))
  const { counting, counts } = countingWaits(env.db)
  await using other = await env.core({ db: counting })
  await startServers(other, work(), await order())
  const next = await order()
  const { projectId, userId } = next.servers[0]!.row
  const rule = { name: 'near', policy: 'affinity', maxPerHost: null, cellId: null } as const
  const group = { id: newId<string>(), projectId, userId, ...rule }
  await env.db.transaction((tx) => insertServerGroup(tx, group))

  const counted = { commits: 0, waits: 0 }
  const atAnswer = await counts.run(counted, async () => {
    await startServers(other, work(), { ...next, group })
    return { ...counted }
  })

  expect(atAnswer).toEqual({ commits: 1, waits: 0 })
  const { id, cellId } = next.servers[0]!.row
  expect(await findServerGroup(env.db, group.id)).toMatchObject({ cellId, members: [id] })
})

test('the group of a boot is locked before its network’s quota, as where servers are deleted', async () => {
  const order = orderFor(env.cells[0]!)
  const { projectId, userId } = order.servers[0]!.row
  const rule = { name: 'apart', policy: 'anti-affinity', maxPerHost: null } as const
  const group = { id: newId<string>(), projectId, userId, ...rule }
  await env.db.transaction((tx) => insertServerGroup(tx, group))
  const seen: string[] = []
  const allocate = async (tx: Tx) => {
    await tx.flush()
    const isLocked = await env.db.orm
      .execute(`select 1 from server_groups where id = '${group.id}' for update skip locked`)
      .then(([rows]) => (rows as unknown as readonly unknown[]).length === 0)
    seen.push(isLocked ? 'locked' : 'free')
    return { nics: [], addresses: {} }
  }

  await startServers(core, work(), {
    ...order,
    group: { ...group, cellId: null },
    nics: { ...order.nics, allocate },
  })

  expect(new Set(seen)).toEqual(new Set(['locked']))
})

test('where an address that was free is taken meanwhile, the boot has another', async () => {
  const { networks, subnet, order } = await onNetwork(new FreeAddresses(systemClock))
  const before = await order()
  await startServers(core, work(), before)
  const [taken] = Object.values((await env.server(before.servers[0]!.row.id))!.addresses).flat()
  const offset = BigInt(taken!.addr.split('.').reduce((sum, part) => sum * 256 + Number(part), 0))
  networks.freeAddresses.take = async () => [
    { subnetId: subnet.id, address: taken!.addr, offset: offset - BigInt(0x0a010000) },
  ]

  const next = await order()
  await startServers(core, work(), next)

  const [address] = Object.values((await env.server(next.servers[0]!.row.id))!.addresses).flat()
  expect(address!.addr).not.toBe(taken!.addr)
})
