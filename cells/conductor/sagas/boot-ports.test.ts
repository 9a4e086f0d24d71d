import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InstanceId, NetworkId, PortId } from '#common/ids.ts'
import { newId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { NETWORK_KINDS } from '#openapi/wire/network.ts'
import { tracesOf } from '#test/env/cell-engine.ts'
import { EMPTY_STATE, wireNetwork, wirePort, wireSubnet } from '#test/env/network-state.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { networkVersion } from '../../db/network-objects.ts'
import { queuePortBindings } from '../../db/port-bindings.ts'
import { readCellNetworks } from '../../reconcilers/cell-networks.ts'

// Goal: a server is active when its ports work, and never stays half built where they do not.

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('boot_ports')
  // Its addresses are asked by nobody here: what OVN says is written by the tests.
  const ovn = { northbound: 'unix:/nowhere', southbound: 'unix:/nowhere' }
  running = await cell.addProcess('one', { ovn, portsUpTimeoutS: 60 })
  host = await cell.addHost({ name: 'joined', joinedByOvn: true })
  await cell.waitForHosts(running, 1)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

function nic(): InstanceBuild['nics'][number] {
  return {
    portId: newId<PortId>(),
    networkId: newId<NetworkId>(),
    macAddress: 'fa:16:3e:00:00:01',
    mtu: 1_442,
    fixedIps: [],
  }
}
const reportPort = (portId: string, isUp: boolean, process = running) =>
  process.cell.conductor.db.transaction((tx) => queuePortBindings(tx, [{ portId, isUp }]))
const isActive =
  (serverId: string) =>
  (row: { readonly view: { readonly serverId: string; readonly vmState: string } }) =>
    row.view.serverId === serverId && row.view.vmState === 'active'
const isSpawned = async (serverId: string) =>
  (await tracesOf(running, [host], serverId)).includes('guest on joined')

test('a server becomes active once all of its ports work', async () => {
  const [one, two] = [nic(), nic()]
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: sampleBuild({ nics: [one, two] }) })
  await expect.poll(() => isSpawned(operation.serverId)).toBe(true)

  await reportPort(one.portId, true)
  await reportPort(two.portId, false)
  const still = await tracesOf(running, [host], operation.serverId)
  expect(still).toContain('instance building')
  await reportPort(two.portId, true)

  await cell.waitForFeed('instance', isActive(operation.serverId))
})

test('a server without ports waits for none', async () => {
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: sampleBuild() })

  await cell.waitForFeed('instance', isActive(operation.serverId))
})

test('the network engine answers for the NICs of a machine before its server is active', async () => {
  const metal = await cell.addHost({
    name: 'metal',
    joinedByOvn: true,
    machines: new Map([['CUSTOM_GOLD', 1]]),
  })
  await cell.waitForHosts(running, 2)
  const operation = operationOn()
  const one = nic()
  const network = wireNetwork()
  const subnet = wireSubnet(network, '10.0.0.0/24')
  const port = wirePort(subnet, '10.0.0.5', {
    ...{ id: one.portId, mac: one.macAddress, deviceId: operation.serverId, hostId: metal.id },
  })
  const put = { ...EMPTY_STATE, networks: [network], subnets: [subnet], ports: [port] }
  const refs = NETWORK_KINDS.flatMap((kind) => put[kind].map(({ id }) => ({ kind, id })))
  const digests = refs.map((ref) => ({ ...ref, digest: 'AAAAAAAA' }))
  await cell.ask('network.apply', { generation: 1, changes: { put, digests, removed: [] } })
  const { conductor } = running.cell
  const before = await networkVersion(conductor.db)
  const written = async () =>
    (await readCellNetworks(conductor.db, conductor.hosts)).ports.find(({ id }) => id === port.id)
  expect(await written()).toMatchObject({ mac: one.macAddress })

  const sample = sampleBuild({ nics: [one], requestedHost: 'metal' })
  const nothing = { 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0' }
  const extraSpecs = { ...nothing, 'resources:CUSTOM_GOLD': '1' }
  const build = { ...sample, flavor: { ...sample.flavor, extraSpecs } }
  await cell.ask('instance.build', { operation, build })
  await expect.poll(written).toMatchObject({ isMachine: true, mac: expect.stringMatching(/^52:/) })
  expect(await networkVersion(conductor.db)).toBeGreaterThan(before)
  expect(await tracesOf(running, [metal], operation.serverId)).toContain('instance building')
  await reportPort(one.portId, true)

  const { view } = await cell.waitForFeed('instance', isActive(operation.serverId))
  const { mac: macAddress } = (await written())!
  expect(view.machineNics).toEqual([{ portId: one.portId, macAddress }])
})

test('a guest that is adopted is not given up for its ports', async () => {
  const operation = operationOn()
  const hardware = { vcpus: 1, memoryMb: 128, rootGb: 1 }
  const id = operation.serverId as InstanceId
  host.driver.plant({ id, name: 'found', powerState: 'running', ...hardware })

  const build = sampleBuild({ adopts: true, nics: [nic()], requestedHost: 'joined' })
  await cell.ask('instance.build', { operation, build })

  await cell.waitForFeed('instance', isActive(operation.serverId))
})

test('a delete ends the wait, and leaves nothing', async () => {
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: sampleBuild({ nics: [nic()] }) })
  await expect.poll(() => isSpawned(operation.serverId)).toBe(true)

  await cell.ask('instance.delete', { operation: { ...operation, id: operationOn().id } })

  await cell.waitForFeed('deleted', ({ serverId }) => serverId === operation.serverId)
  expect(await tracesOf(running, [host], operation.serverId)).toEqual([])
})

test('a server whose ports do not come up is not built, and its fault names them', async () => {
  const missing = nic()
  await using other = await testCell('boot_ports_late')
  const ovn = { northbound: 'unix:/nowhere', southbound: 'unix:/nowhere' }
  const process = await other.addProcess('one', { ovn, portsUpTimeoutS: 1 })
  const late = await other.addHost({ name: 'late', joinedByOvn: true })
  await other.waitForHosts(process, 1)
  const works = nic()
  await reportPort(works.portId, true, process)
  const operation = operationOn()

  await other.ask('instance.build', { operation, build: sampleBuild({ nics: [works, missing] }) })

  const { reason } = await other.waitForFeed(
    'not-built',
    ({ serverId }) => serverId === operation.serverId,
  )
  expect(reason).toContain('Failed to allocate the network(s), not rescheduling.')
  expect(reason).toContain(`after 1 s on host late: ${missing.portId}.`)
  expect(await tracesOf(process, [late], operation.serverId)).toEqual([])
})
