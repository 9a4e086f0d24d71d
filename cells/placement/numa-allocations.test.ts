import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type HostId, type InstanceId, newId } from '#common/ids.ts'
import type { Act } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { testServices } from '#test/env/services.ts'
import {
  type TestCell,
  type TestHost,
  type TestHostOptions,
  testCell,
} from '#test/env/test-cell.ts'
import { countFitting } from '../conductor/count-fitting.ts'
import type { RunningCell } from '../context.ts'
import { findInstance, updateSeenInstance } from '../db/instances.ts'
import { allocations, customResources } from '../db/schema/placement.ts'
import { auditHost } from '../hosts/audit-host.ts'
import { auditAllocations } from '../reconcilers/allocation-audit.ts'
import { settleNodes } from './settle-nodes.ts'

const HOST: TestHostOptions = {
  ...{ name: 'host', vcpus: 4, memoryMb: 1_024, diskGb: 1_000, numaNodes: 2 },
  resources: new Map([['PCPU', 4]]),
  hasNumaProviders: true,
}

let cell: TestCell
let first: RunningCell
let second: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('numa')
  const ratios = { vcpus: 1, memoryMb: 1, diskGb: 1 }
  first = await cell.addProcess('one', { ratios })
  second = await cell.addProcess('two', { ratios })
  host = await cell.addHost(HOST)
  for (const running of [first, second]) await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

afterEach(async () => {
  const { db } = first.cell.conductor
  for (const { consumerId: serverId } of await db.orm.selectDistinct(CONSUMERS).from(allocations))
    await cell.ask('instance.delete', { operation: operationOn(serverId) })
  await expect.poll(() => db.orm.select().from(allocations)).toEqual([])
  expect(await usedOf(host.id)).toEqual({})
})

const CONSUMERS = { consumerId: allocations.consumerId }

const flavorOf = (vcpus: number, extraSpecs: Readonly<Record<string, string>>) => {
  const { flavor } = sampleBuild()
  return { ...flavor, id: newId<string>(), vcpus, memoryMb: 64 * vcpus, extraSpecs }
}
const ofNodes = (nodes: number, vcpus = nodes) =>
  sampleBuild({ flavor: flavorOf(vcpus, { 'hw:numa_nodes': String(nodes) }) })

const instanceOf = ({ serverId }: OperationRef) =>
  findInstance(first.cell.conductor.db, serverId as InstanceId)
const nodesOf = async (operation: OperationRef) => (await instanceOf(operation))?.placed?.numa
const guestNodes = async ({ serverId }: OperationRef, at = host) => {
  const reports = await at.driver.list(AbortSignal.timeout(5_000))
  return reports.find(({ id }) => id === serverId)?.hostNodes
}

/** What is counted as used of nodes, which the audit finds to be what servers hold. */
async function usedOf(provider: HostId): Promise<Readonly<Record<string, number>>> {
  expect(await auditAllocations(first.cell)).toMatchObject({ corrected: 0 })
  const { db } = first.cell.conductor
  const rows = await db.orm
    .select()
    .from(customResources)
    .where(eq(customResources.providerId, provider))
  const used = rows.filter(
    ({ resourceClass, used: each }) => /^NUMA/.test(resourceClass) && each !== 0,
  )
  return Object.fromEntries(used.map((row) => [row.resourceClass, row.used]))
}

async function heldBy({ serverId }: OperationRef): Promise<Readonly<Record<string, number>>> {
  const { db } = first.cell.conductor
  const rows = await db.orm.select().from(allocations).where(eq(allocations.consumerId, serverId))
  return Object.fromEntries(rows.map((row) => [row.resourceClass, row.used]))
}

test('a server holds of the host what it takes, and of its nodes where it is', async () => {
  const server = await cell.activeServer(ofNodes(1, 2))

  const numa = await nodesOf(server)
  const node = numa!.vcpus[0]!
  expect(numa).toEqual({
    vcpus: [node, node],
    resources: { [node]: { VCPU: 2, MEMORY_MB: 128 } },
  })
  expect(await guestNodes(server)).toEqual(numa?.vcpus)
  expect(await heldBy(server)).toEqual({
    ...{ VCPU: 2, MEMORY_MB: 128, DISK_GB: 1 },
    ...{ [`NUMA_${node}_VCPU`]: 2, [`NUMA_${node}_MEMORY_MB`]: 128 },
  })
  const { view } = await cell.waitForFeed(
    'instance',
    (row) => row.view.serverId === server.serverId,
  )
  expect(view.numa).toEqual(numa)
})

test('two processes give no node more than it has', async () => {
  const asked = Array.from({ length: 6 }, () => ({
    operation: operationOn(),
    build: ofNodes(1, 2),
  }))
  const answers = await Promise.all(asked.map((each) => cell.ask('instance.build', each)))

  expect(answers.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(2)
  await expect
    .poll(() => usedOf(host.id))
    .toEqual({
      ...{ NUMA_0_VCPU: 2, NUMA_0_MEMORY_MB: 128 },
      ...{ NUMA_1_VCPU: 2, NUMA_1_MEMORY_MB: 128 },
    })
})

test('servers that are counted before they are built are counted by nodes', async () => {
  const { conductor } = first.cell
  // Each of the two nodes has two CPUs.
  expect(await countFitting(conductor, ofNodes(1, 2), 5)).toBe(2)
  expect(await countFitting(conductor, ofNodes(1, 1), 5)).toBe(4)
  expect(await countFitting(conductor, ofNodes(1, 3), 5)).toBe(0)
})

test('a server that may be anywhere takes nothing of nodes', async () => {
  const server = await cell.activeServer(sampleBuild({ flavor: flavorOf(4, {}) }))

  expect(await nodesOf(server)).toBeUndefined()
  expect(await usedOf(host.id)).toEqual({})
  // The host is full, whatever its nodes have.
  const full = await cell.ask('instance.build', { operation: operationOn(), build: ofNodes(1) })
  expect(full.outcome).toBe('refused')
})

test('dedicated CPUs are of one node, or else of several', async () => {
  const pinned = (vcpus: number) =>
    sampleBuild({ flavor: flavorOf(vcpus, { 'hw:cpu_policy': 'dedicated' }) })
  const one = await cell.activeServer(pinned(1))
  const three = await cell.activeServer(pinned(3))

  const [node] = (await nodesOf(one))!.vcpus
  const cpusOf = async (of: number) => (await nodesOf(three))?.vcpus.filter((each) => each === of)
  expect(await cpusOf(node!)).toHaveLength(1)
  expect(await cpusOf(1 - node!)).toHaveLength(2)
  expect(await guestNodes(three)).toEqual((await nodesOf(three))?.vcpus)
  expect(await usedOf(host.id)).toEqual({ NUMA_0_PCPU: 2, NUMA_1_PCPU: 2 })
})

test('a host that refuses a server on its nodes is followed by none, and nothing stays taken', async () => {
  host.driver.faults.set([{ method: 'spawn', effect: { do: 'fail', kind: 'no-capacity' } }])
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: ofNodes(2) })
  await expect.poll(() => instanceOf(operation)).toBeUndefined()
  host.driver.faults.set([])

  expect(await usedOf(host.id)).toEqual({})
})

test('a resize that is reverted has the nodes again that it had', async () => {
  const server = await cell.activeServer(ofNodes(1))
  const before = await nodesOf(server)
  const large = ofNodes(2)
  const previous = (await first.cell.conductor.builds.record(
    first.cell.conductor.db,
    (await instanceOf(server))!,
  ))!.flavor
  const done = async (act: Act, state: string) => {
    await cell.ask('instance.act', { operation: { ...server, id: newId() }, act })
    await expect
      .poll(async () => {
        const { vmState, sagaId } = (await instanceOf(server))!
        return sagaId === null && vmState
      })
      .toBe(state)
  }
  await done({ name: 'resize', build: large, previous, userId: 'user' }, 'resized')
  expect((await nodesOf(server))?.vcpus.toSorted()).toEqual([0, 1])
  expect(await guestNodes(server)).toEqual((await nodesOf(server))?.vcpus)

  await done({ name: 'revert-resize', build: { ...large, flavor: previous } }, 'active')
  expect(await nodesOf(server)).toEqual(before)
  expect(await guestNodes(server)).toEqual(before?.vcpus)
  expect(Object.keys(await usedOf(host.id))).toHaveLength(2)
})

test('servers of before are counted where they are, before others are offered the rest', async () => {
  const { directory } = await testServices()
  await using later = await testCell('numa-later')
  const running = await later.addProcess('one', { ratios: { vcpus: 1, memoryMb: 1, diskGb: 1 } })
  const stateDirectory = mkdtempSync(join(directory, 'host-'))
  const { hasNumaProviders: _off, ...plain } = HOST
  const former = await later.addHost({ ...plain, stateDirectory })
  await later.waitForHosts(running, 1)
  const server = await later.activeServer(ofNodes(1, 2))
  const { db } = running.cell.conductor
  const placed = async () => (await findInstance(db, server.serverId as InstanceId))?.placed
  expect((await placed())?.numa).toBeUndefined()
  await former[Symbol.asyncDispose]()

  const again = await later.addHost({ ...HOST, id: former.id, stateDirectory })
  await expect.poll(async () => (await placed())?.numa?.vcpus).toEqual([0, 0])
  expect(await guestNodes(server, again)).toEqual([0, 0])
  await expect
    .poll(() => running.cell.conductor.hosts.countedNodes(former.id).map(({ id }) => id))
    .toEqual([0, 1])
  const next = await later.activeServer(ofNodes(1, 2))
  expect(await guestNodes(next, again)).toEqual([1, 1])
  expect(await auditAllocations(running.cell)).toMatchObject({ corrected: 0 })
})

test('a guest that is elsewhere than its server holds something is believed', async () => {
  const server = await cell.activeServer(ofNodes(1))
  const { db } = first.cell.conductor
  const instance = (await instanceOf(server))!
  const node = 1 - instance.placed!.numa!.vcpus[0]!
  const numa = { vcpus: [node], resources: { [node]: { VCPU: 1, MEMORY_MB: 64 } } }
  await db.transaction(async (tx) => {
    const placed = { ...instance.placed!, numa }
    const to = { ...instance, placed, version: instance.version + 1 }
    await updateSeenInstance(tx, instance, { to })
    await settleNodes(tx, host.id, server.serverId, numa)
  })
  expect(Object.keys(await usedOf(host.id))).toContain(`NUMA_${node}_VCPU`)

  await auditHost(first.cell, host.id)
  expect(await nodesOf(server)).toEqual(instance.placed!.numa)
  expect(await usedOf(host.id)).toEqual({
    [`NUMA_${1 - node}_VCPU`]: 1,
    [`NUMA_${1 - node}_MEMORY_MB`]: 64,
  })
})

test('a guest that is adopted is counted where it is bound, whatever its flavor asks for', async () => {
  const adopted = async (extraSpecs: Readonly<Record<string, string>>, hostNodes?: number[]) => {
    const operation = operationOn()
    const guest = {
      id: operation.serverId as InstanceId,
      name: 'web',
      powerState: 'running' as const,
    }
    const size = { vcpus: 2, memoryMb: 128, rootGb: 1 }
    host.driver.plant({ ...guest, ...size, ...(hostNodes && { hostNodes }) })
    const build = sampleBuild({ flavor: flavorOf(2, extraSpecs), adopts: true })
    await cell.ask('instance.build', { operation, build })
    await expect.poll(async () => (await instanceOf(operation))?.vmState).toBe('active')
    await auditHost(first.cell, host.id)
    return operation
  }
  const bound = await adopted({}, [1, 1])
  const halves = await adopted({ 'hw:numa_nodes': '1' }, [0, 1])

  expect(await nodesOf(bound)).toEqual({
    vcpus: [1, 1],
    resources: { 1: { VCPU: 2, MEMORY_MB: 128 } },
  })
  expect((await nodesOf(halves))?.resources).toEqual({
    0: { VCPU: 1, MEMORY_MB: 64 },
    1: { VCPU: 1, MEMORY_MB: 64 },
  })
  // More is taken of node 1 than it offers, so no other server gets a part of the node.
  expect(await usedOf(host.id)).toEqual({
    ...{ NUMA_0_VCPU: 1, NUMA_0_MEMORY_MB: 64 },
    ...{ NUMA_1_VCPU: 3, NUMA_1_MEMORY_MB: 192 },
  })
  const versions = async () =>
    Promise.all([bound, halves].map(async (each) => (await instanceOf(each))?.version))
  const before = await versions()
  await auditHost(first.cell, host.id)
  expect(await versions()).toEqual(before)
})

test('a guest that is adopted and bound to no node is counted on one that has room', async () => {
  const operation = operationOn()
  const id = operation.serverId as InstanceId
  host.driver.plant({ id, name: 'web', powerState: 'running', vcpus: 2, memoryMb: 128, rootGb: 1 })
  const build = { ...ofNodes(1, 2), adopts: true as const }
  await cell.ask('instance.build', { operation, build })
  await expect.poll(async () => (await instanceOf(operation))?.vmState).toBe('active')

  await auditHost(first.cell, host.id)
  // The process may not know yet that servers of before have left the other node.
  const { resources } = (await nodesOf(operation))!
  expect(Object.values(resources)).toEqual([{ VCPU: 2, MEMORY_MB: 128 }])
  const late = operationOn()
  const guest = { name: 'late', powerState: 'running' as const, memoryMb: 128, rootGb: 1 }
  host.driver.plant({ ...guest, id: late.serverId as InstanceId, vcpus: 3 })
  const large = { ...ofNodes(1, 3), adopts: true as const }
  expect(await cell.ask('instance.build', { operation: late, build: large })).toMatchObject({
    outcome: 'refused',
  })
})
