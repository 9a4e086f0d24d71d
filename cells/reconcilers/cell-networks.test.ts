import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { CellAct } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { EMPTY_STATE, wireNetwork, wirePort, wireSubnet } from '#test/env/network-state.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { findInstance } from '../db/instances.ts'
import { networkVersion } from '../db/network-objects.ts'
import { readCellNetworks } from './cell-networks.ts'

// Goal: the ports of a server that moves follow it at once, also while no gateway answers.

let cell: TestCell
let running: RunningCell
let hosts: readonly TestHost[]

beforeAll(async () => {
  cell = await testCell('cell_networks')
  running = await cell.addProcess('one')
  hosts = [await cell.addHost({ name: 'here' }), await cell.addHost({ name: 'there' })]
  await cell.waitForHosts(running, 2)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

const placeOf = async ({ serverId }: OperationRef) =>
  (await findInstance(running.cell.conductor.db, serverId as InstanceId))?.placed?.hostId
const networks = () => readCellNetworks(running.cell.conductor.db, running.cell.conductor.hosts)
const version = () => networkVersion(running.cell.conductor.db)
const begin = (operation: OperationRef, name: 'migrate' | 'live-migrate') => {
  const order = { migrationId: newId(), host: null, isAwaited: false, userId: 'user' } as const
  const act: CellAct = { name, build: sampleBuild(), ...order }
  return cell.ask('instance.act', { operation: { ...operation, id: newId() }, act })
}

/** A server with a port that the gateway knows to be on its host, and one port without a server. */
async function serverWithPort() {
  const operation = await cell.activeServer()
  const from = (await placeOf(operation))!
  const network = wireNetwork()
  const subnet = wireSubnet(network, '10.0.0.0/24')
  const port = wirePort(subnet, '10.0.0.5', { deviceId: operation.serverId, hostId: from })
  const free = wirePort(subnet, '10.0.0.6')
  const put = { ...EMPTY_STATE, networks: [network], subnets: [subnet], ports: [port, free] }
  const digest = 'AAAAAAAA'
  const digests = [
    { kind: 'networks', id: network.id, digest },
    { kind: 'subnets', id: subnet.id, digest },
    ...[port, free].map(({ id }) => ({ kind: 'ports', id, digest }) as const),
  ] as const
  await cell.ask('network.apply', {
    generation: 1,
    changes: { put, digests: [...digests], removed: [] },
  })
  const hostOf = async ({ id }: { readonly id: string }) =>
    (await networks()).ports.find((each) => each.id === id)?.hostId
  return { operation, from, port, free, hostOf }
}

test('a guest that moves while it runs has its ports on both hosts, and then on the new one', async () => {
  const { operation, from, port, free, hostOf } = await serverWithPort()
  const { driver } = hosts.find(({ id }) => id === from)!
  const to = hosts.find(({ id }) => id !== from)!.id
  const before = await version()
  driver.faults.set([{ method: 'send', effect: { do: 'hang' } }])

  await begin(operation, 'live-migrate')
  expect(await version()).toBeGreaterThan(before)
  expect((await networks()).destinations).toEqual(new Map([[port.id, to]]))
  expect(await hostOf(port)).toBe(from)

  const during = await version()
  driver.faults.set([])
  await expect.poll(() => placeOf(operation)).toBe(to)
  expect(await hostOf(port)).toBe(to)
  expect(await hostOf(free)).toBeNull()
  expect((await networks()).destinations?.size ?? 0).toBe(0)
  expect(await version()).toBeGreaterThan(during)
})

test('a guest that was moved while it was off has its ports on the new host', async () => {
  const { operation, from, port, hostOf } = await serverWithPort()
  const before = await version()

  await begin(operation, 'migrate')

  await expect.poll(() => placeOf(operation)).not.toBe(from)
  expect(await hostOf(port)).toBe(await placeOf(operation))
  expect(await version()).toBeGreaterThan(before)
})
