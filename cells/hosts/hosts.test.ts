import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { type HostId, type InstanceId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { eventSubject, reportSubject } from '#openapi/wire.ts'
import { Relay } from '#test/env/relay.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { testServices } from '#test/env/services.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import type { RunningCell } from '../context.ts'
import { isHostAuthoritative, makeHostsAuthoritative } from '../db/hosts.ts'
import { findInstance } from '../db/instances.ts'
import { auditHost } from './audit-host.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('hosts')
  running = await cell.addProcess('one', { hostDownAfterMs: 2_500 })
  host = await cell.addHost({ name: 'host', vcpus: 8, memoryMb: 1_000, diskGb: 20 })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(5_000)

async function settled({ serverId }: OperationRef) {
  const instance = await findInstance(running.cell.conductor.db, serverId as InstanceId)
  return [instance?.vmState, instance?.taskState, instance?.powerState, instance?.sagaId]
}

test('a new host registers itself, with its resources and its overcommit ratios', async () => {
  const { view } = await cell.waitForFeed('host', ({ view }) => view.hostId === host.id)

  expect(view).toMatchObject({
    name: 'host',
    zone: 'nova',
    simulated: true,
    isUp: true,
    inventory: { vcpus: 8, memoryMb: 1_000, diskGb: 20 },
    ratios: { vcpus: 16, memoryMb: 1.5, diskGb: 1 },
    used: { vcpus: 0, memoryMb: 0, diskGb: 0, instances: 0 },
  })
  const { states } = { states: running.cell.conductor.hosts.states() }
  expect(states[0]?.limits).toEqual({ vcpus: 128, memoryMb: 1_500, diskGb: 20 })
})

test('a host that reported before any process of the cell ran is met by its signs of life', async () => {
  await using early = await testCell('early')
  await early.addHost({ name: 'early' })

  const process = await early.addProcess('late')

  await early.waitForHosts(process, 1)
})

test('a process that is back on the bus later than a host that has changed meanwhile knows the change', async () => {
  await using cut = await testCell('cut')
  await using wire = await Relay.open((await testServices()).natsUrl)
  const process = await cut.addProcess('cut', { natsUrl: wire.url })
  const before = await cut.addHost({ name: 'host', vcpus: 8 })
  await cut.waitForHosts(process, 1)

  wire.set('refuse')
  await before[Symbol.asyncDispose]()
  await cut.addHost({ name: 'host', id: before.id, vcpus: 16 })
  wire.set('pass')

  const { hosts } = process.cell.conductor
  await expect.poll(() => hosts.get(before.id)?.inventory?.vcpus).toBe(16)
  expect(hosts.states()).toMatchObject([{ isUp: true }])
})

test('usage is shown after a boot, in the snapshot at once and in the feed soon', async () => {
  await cell.activeServer()

  const snapshot = await cell.ask('snapshot.read', { afterInstance: null, limit: 100 })
  const { hosts } = await cell.ask('snapshot.hosts', { afterHost: null })

  expect(hosts[0]?.used).toMatchObject({ vcpus: 1, memoryMb: 128, instances: 1 })
  expect(snapshot.instances).toHaveLength(1)
  await cell.waitForFeed('host', ({ view }) => view.used.instances === 1)
})

test('the heartbeat sums up the free resources of the cell', async () => {
  const beats: CellHeartbeat[] = []
  cell.gateway.subscribe(eventSubject(cell.id, 'heartbeat'), {
    callback: (_error, message) => {
      beats.push(message.json<CellHeartbeat>())
    },
  })

  const beat = await waitFor('a heartbeat', () => beats[0], 5_000)

  expect(beat).toMatchObject({
    process: 'one',
    incarnation: running.cell.incarnation,
    summary: {
      hosts: 1,
      hostsUp: 1,
      simulated: true,
      zones: ['nova'],
      hypervisorTypes: ['fake'],
      architectures: ['x86_64'],
      imageFormats: ['qcow2', 'qcow2+changes', 'raw', 'raw+changes'],
    },
  })
})

test('a guest that stopped behind our back is stopped, and the feed says so', async () => {
  const operation = await cell.activeServer()

  await host.driver.stop(operation.serverId as InstanceId, 0, signal())

  const { view } = await cell.waitForFeed(
    'instance',
    ({ view }) => view.serverId === operation.serverId && view.vmState === 'stopped',
  )
  expect(view).toMatchObject({ taskState: null, powerState: 4 })
})

/** The record of a stop that the cell made of its own accord. */
const ownStop = ({ serverId: id }: OperationRef) =>
  cell.waitForFeed('action-event', ({ event: e }) => e.serverId === id && e.action === 'stop')

test('a guest that is gone is stopped, without a power state', async () => {
  const operation = await cell.activeServer()
  await host.driver.destroy(operation.serverId as InstanceId, signal())

  await auditHost(running.cell, host.id)

  expect(await settled(operation)).toEqual(['stopped', null, 0, null])
  expect(await ownStop(operation)).toMatchObject({ event: { result: 'Success' } })
})

test('a host with more guests than one report names is asked for the others', async () => {
  const others = await testCell('hosts_pages')
  await using _owned = others
  const process = await others.addProcess('one')
  const size = { vcpus: 8, memoryMb: 1_000, diskGb: 20 }
  const small = await others.addHost({ name: 'small', reportedGuestsMax: 2, ...size })
  await others.waitForHosts(process, 1)
  const servers = Array.from({ length: 5 }, () => operationOn())
  for (const operation of servers)
    await others.ask('instance.build', { operation, build: sampleBuild() })
  const states = async () => {
    const ids = servers.map(({ serverId }) => serverId as InstanceId)
    const { db } = process.cell.conductor
    return Promise.all(ids.map(async (id) => (await findInstance(db, id))?.vmState))
  }
  await expect.poll(states).toEqual(servers.map(() => 'active'))

  expect(await auditHost(process.cell, small.id)).toBe(0)
  const last = servers.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1)).at(-1)!
  await small.driver.destroy(last.serverId as InstanceId, signal())
  await auditHost(process.cell, small.id)

  const expected = servers.map((each) => (each === last ? 'stopped' : 'active'))
  expect(await states()).toEqual(expected)
})

test('once after a restore, a guest that runs though its server is stopped stays so', async () => {
  const operation = await cell.activeServer()
  const { db } = running.cell.conductor
  const stop = () =>
    cell.ask('instance.act', { operation: { ...operation, id: newId() }, act: { name: 'stop' } })
  await stop()
  await expect.poll(() => settled(operation)).toEqual(['stopped', null, 4, null])
  await db.transaction(makeHostsAuthoritative)
  await host.driver.start(operation.serverId as InstanceId, signal())

  await auditHost(running.cell, host.id)

  expect(await settled(operation)).toEqual(['active', null, 1, null])
  expect(await isHostAuthoritative(db, host.id)).toBe(false)
  // The host has no room for a server of every test.
  await cell.ask('instance.delete', { operation: { ...operation, id: newId() } })
})

test('a guest that runs though its server is stopped is stopped again', async () => {
  const operation = await cell.activeServer()
  await cell.ask('instance.act', {
    operation: { ...operation, id: newId() },
    act: { name: 'stop' },
  })
  await expect.poll(() => settled(operation)).toEqual(['stopped', null, 4, null])
  await host.driver.start(operation.serverId as InstanceId, signal())

  await auditHost(running.cell, host.id)

  const state = async () =>
    (await host.driver.list(signal())).find(({ id }) => id === operation.serverId)?.powerState
  await expect.poll(state).toBe('shutdown')
  await expect.poll(() => settled(operation)).toEqual(['stopped', null, 4, null])
  // The gateways have no request for it, so the step names its action.
  const { event } = await ownStop(operation)
  expect(event).toMatchObject({ event: 'compute_stop_instance', result: 'Success', host: 'host' })
})

test('a server whose host went off under it is started again, in the state it had all along', async () => {
  const awake = await cell.activeServer()
  const stopped = await cell.activeServer()
  const paused = await cell.activeServer()
  const resized = await cell.activeServer()
  const small = sampleBuild()
  await cell.ask('instance.act', { operation: { ...stopped, id: newId() }, act: { name: 'stop' } })
  await cell.ask('instance.act', { operation: { ...paused, id: newId() }, act: { name: 'pause' } })
  await expect.poll(() => settled(stopped)).toEqual(['stopped', null, 4, null])
  await expect.poll(() => settled(paused)).toEqual(['paused', null, 3, null])

  const larger = sampleBuild({ flavor: { ...small.flavor, id: '2', vcpus: 2 } })
  const resize = { name: 'resize', build: larger, previous: small.flavor, userId: 'user' } as const
  await cell.ask('instance.act', { operation: { ...resized, id: newId() }, act: resize })
  await expect.poll(() => settled(resized)).toEqual(['resized', null, 1, null])

  host.driver.loseHost()
  await host.compute.report()

  const state = async ({ serverId }: OperationRef) =>
    (await host.driver.list(signal())).find(({ id }) => id === serverId)?.powerState
  await expect.poll(() => state(awake)).toBe('running')
  await expect.poll(() => settled(awake)).toEqual(['active', null, 1, null])
  await expect.poll(() => settled(paused)).toEqual(['stopped', null, 4, null])
  await expect.poll(() => state(resized)).toBe('running')
  await expect.poll(() => settled(resized)).toEqual(['resized', null, 1, null])
  expect([await state(stopped), await state(paused)]).toEqual(['shutdown', 'shutdown'])
  const states = cell.feed.flatMap(({ body }) =>
    body.kind === 'instance' && body.view.serverId === awake.serverId ? [body.view.vmState] : [],
  )
  expect(states).not.toContain('stopped')
})

test('a new process of the cell asks known hosts for the reports that it missed', async () => {
  const operation = await cell.activeServer()
  host.driver.loseHost()

  await using _two = await cell.addProcess('two', { hostDownAfterMs: 2_500 })

  const isOn = async () =>
    (await host.driver.list(signal())).some(
      ({ id, powerState }) => id === operation.serverId && powerState === 'running',
    )
  await expect.poll(isOn).toBe(true)
})

test('a report that is older than a later change has no effect', async () => {
  const operation = await cell.activeServer()

  await auditHost(running.cell, host.id, [])

  expect(await settled(operation)).toEqual(['active', null, 1, null])
})

test('a host without reports is down and gets no servers, and is up again at its next report', async () => {
  const { directory } = await testServices()
  const options = {
    name: 'mute',
    id: newId<HostId>(),
    stateDirectory: mkdtempSync(join(directory, 'mute-')),
    zone: 'quiet',
  }
  const build = () =>
    cell.ask('instance.build', {
      operation: operationOn(),
      build: sampleBuild({ zone: 'quiet' }),
    })
  const isShown = (isUp: boolean) =>
    cell.waitForFeed('host', ({ view }) => view.name === 'mute' && view.isUp === isUp)
  const mute = await cell.addHost(options)
  await cell.waitForHosts(running, 2)
  expect(await build()).toMatchObject({ outcome: 'accepted' })

  await mute[Symbol.asyncDispose]()

  await isShown(false)
  await cell.waitForHosts(running, 1)
  expect(await build()).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('ComputeFilter'),
  })
  await cell.addHost(options)
  await cell.waitForHosts(running, 2)
  await isShown(true)
})

test('a disabled service takes no servers, and says why', async () => {
  await using barred = await cell.addHost({ name: 'barred', id: newId<HostId>(), zone: 'barred' })
  await cell.waitForHosts(running, 3)
  const setService = (isDisabled: boolean, disabledReason: string | null) =>
    cell.ask('host.set-service', { hostId: barred.id, isDisabled, disabledReason })
  const build = () =>
    cell.ask('instance.build', {
      operation: operationOn(),
      build: sampleBuild({ zone: 'barred' }),
    })

  const view = await setService(true, 'maintenance')
  const refused = await build()
  await setService(false, null)

  expect(view).toMatchObject({ isDisabled: true, disabledReason: 'maintenance' })
  expect(refused).toMatchObject({ outcome: 'refused' })
  expect(await build()).toMatchObject({ outcome: 'accepted' })
})

test('a host is forgotten once it has no servers, and is back when its compute has started again', async () => {
  const options = { name: 'leaving', id: newId<HostId>(), zone: 'leaving' }
  const leaving = await cell.addHost(options)
  const { hosts } = running.cell.conductor
  await waitFor('the host', () => hosts.get(leaving.id)?.provider?.limits, 10_000)
  const operation = operationOn()
  const build = () =>
    cell.ask('instance.build', {
      operation: operationOn(),
      build: sampleBuild({ zone: 'leaving' }),
    })
  await cell.ask('instance.build', { operation, build: sampleBuild({ zone: 'leaving' }) })
  await expect.poll(() => settled(operation)).toEqual(['active', null, 1, null])
  const forget = () => cell.ask('host.forget', { hostId: leaving.id })
  await expect(forget()).rejects.toMatchObject({ kind: 'conflict', message: /hosting instances/ })
  await cell.ask('instance.delete', { operation })
  await cell.waitForFeed('deleted', ({ serverId }) => serverId === operation.serverId)

  expect(await forget()).toMatchObject({ isDeleted: true, isUp: false })

  await leaving.compute.report()
  expect(hosts.get(leaving.id)).toBeUndefined()
  await expect(forget()).rejects.toMatchObject({ kind: 'not-found' })
  expect(await build()).toMatchObject({ outcome: 'refused' })
  await leaving[Symbol.asyncDispose]()
  await using _again = await cell.addHost(options)
  await waitFor('the host', () => hosts.get(leaving.id)?.provider?.limits, 10_000)
  expect(await build()).toMatchObject({ outcome: 'accepted' })
})

test('a host that floods its cell with reports silences no other', async () => {
  const { nats, cellId, hosts } = running.cell.conductor
  const loud = newId<HostId>()
  const subject = reportSubject(cellId, loud, 'report')
  const report = JSON.stringify({ ...(await askedReport()), hostId: loud, name: 'loud' })
  for (let nth = 0; nth < 5_000; nth += 1) nats.publish(subject, nth % 2 === 0 ? report : 'garbage')
  await nats.flush()
  const floodedAt = Date.now()

  const isReported = () => {
    const known = hosts.get(host.id as HostId)
    return known !== undefined && hosts.lastSeenAt(known) >= floodedAt
  }
  await waitFor('a report of the other host', isReported, 4_000)
  expect(hosts.isUp(hosts.get(host.id as HostId)!)).toBe(true)
})

async function askedReport() {
  const { conductor } = running.cell
  return askHost(conductor, host.id as HostId, 'report', {}, workContext({}))
}
