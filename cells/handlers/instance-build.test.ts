import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '#common/bus/ask.ts'
import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import { processSubject, WIRE_VERSION } from '#openapi/wire.ts'
import { tracesOf, usageOf } from '#test/env/cell-engine.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'

// Goal: one answer per attempt, however often and in which order it is asked for; one server or none, never two.

let cell: TestCell
let one: RunningCell
let hosts: TestHost[]

beforeAll(async () => {
  cell = await testCell('build')
  one = await cell.addProcess('one')
  const two = await cell.addProcess('two')
  hosts = [
    await cell.addHost({ name: 'host-a', vcpus: 4 }),
    await cell.addHost({ name: 'host-b', vcpus: 4, zone: 'east' }),
  ]
  await cell.waitForHosts(one, 2)
  await cell.waitForHosts(two, 2)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const isActive =
  (serverId: string) =>
  ({ view }: { view: { serverId: string; vmState: string } }) =>
    view.serverId === serverId && view.vmState === 'active'

test('a build is accepted with a claim and the reasons for it, and becomes active', async () => {
  const operation = operationOn()
  const build = sampleBuild({ requestedHost: 'host-a' })

  const answer = await cell.ask('instance.build', { operation, build })

  expect(answer).toMatchObject({
    outcome: 'accepted',
    view: { serverId: operation.serverId, vmState: 'building', host: 'host-a', version: 1 },
    trace: { chosen: 'host-a', considered: 2 },
  })
  const { view } = await cell.waitForFeed('instance', isActive(operation.serverId))
  expect(view).toMatchObject({ taskState: null, powerState: 1, host: 'host-a', version: 2 })
})

test('builds that are asked for at once know of each other: equal hosts get as many', async () => {
  await using own = await testCell('spread')
  const running = await own.addProcess('one')
  for (const name of ['one', 'two', 'three']) await own.addHost({ name })
  await own.waitForHosts(running, 3)

  const answers = await Promise.all(
    Array.from({ length: 12 }, () =>
      own.ask('instance.build', { operation: operationOn(), build: sampleBuild() }),
    ),
  )

  const hostsOf = answers.map((answer) => ('view' in answer ? answer.view.host : answer.outcome))
  const counts = [...Map.groupBy(hostsOf, (name) => name)].map(([name, { length }]) => [
    name,
    length,
  ])
  expect(Object.fromEntries(counts)).toEqual({ one: 4, two: 4, three: 4 })
})

test('a build asked ten times at once of two processes is one server, answered alike', async () => {
  const operation = operationOn()
  const build = sampleBuild()

  const answers = await Promise.all(
    Array.from({ length: 10 }, () => cell.ask('instance.build', { operation, build })),
  )

  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['accepted']))
  await cell.waitForFeed('instance', isActive(operation.serverId))
  const left = await tracesOf(one, hosts, operation.serverId)
  expect(left).toEqual(['instance active', 'allocation', expect.stringMatching(/^guest on /)])
})

test('a repeat is answered with the server as it is by then', async () => {
  const operation = operationOn()
  const build = sampleBuild()
  const first = await cell.ask('instance.build', { operation, build })
  await cell.waitForFeed('instance', isActive(operation.serverId))

  const again = await cell.ask('instance.build', { operation, build })

  expect(again).toMatchObject({ outcome: 'accepted', view: { vmState: 'active', version: 2 } })
  expect(again).toHaveProperty('trace', 'trace' in first ? first.trace : undefined)
})

test('a build that no host can take stays refused when it is repeated', async () => {
  const operation = operationOn()
  const build = sampleBuild({ zone: 'nowhere' })

  const first = await cell.ask('instance.build', { operation, build })
  const again = await cell.ask('instance.build', { operation, build: sampleBuild() })

  expect(first).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('AvailabilityZoneFilter'),
    trace: { chosen: null, considered: 2 },
  })
  expect(again).toEqual(first)
  expect(await tracesOf(one, hosts, operation.serverId)).toEqual([])
})

test('a flavor larger than every host is refused, though they promise more than they have', async () => {
  const { flavor } = sampleBuild()
  const build = sampleBuild({ flavor: { ...flavor, vcpus: 20 } })
  const operation = operationOn()

  const answer = await cell.ask('instance.build', { operation, build })

  expect(answer).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('gives a server at most 4 VCPUs, 20 are needed'),
    trace: { filters: expect.arrayContaining([expect.objectContaining({ name: 'CoreFilter' })]) },
  })
  expect(await tracesOf(one, hosts, operation.serverId)).toEqual([])
})

test('a real image is refused by simulated hosts', async () => {
  const build = sampleBuild()
  const image = { ...build.image, properties: {} }

  const answer = await cell.ask('instance.build', {
    operation: operationOn(),
    build: { ...build, image },
  })

  expect(answer).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('is simulated'),
  })
})

test('a zone and a host that were asked for are kept to', async () => {
  const ask = (change: Parameters<typeof sampleBuild>[0]) =>
    cell.ask('instance.build', { operation: operationOn(), build: sampleBuild(change) })

  expect(await ask({ zone: 'east' })).toMatchObject({ view: { host: 'host-b', zone: 'east' } })
  expect(await ask({ requestedHost: 'host-a' })).toMatchObject({
    view: { host: 'host-a', zone: 'nova' },
  })
})

test('a delete that overtakes its build leaves a tombstone, and the build is refused', async () => {
  const operation = operationOn()

  const deleted = await cell.ask('instance.delete', { operation })
  const late = await cell.ask('instance.build', { operation, build: sampleBuild() })

  expect([deleted, late]).toEqual([{ outcome: 'deleted' }, { outcome: 'deleted' }])
  expect(await tracesOf(one, hosts, operation.serverId)).toEqual([])
})

test('a build older than the known attempt of its server is refused', async () => {
  const newer = operationOn(newId(), 3)
  await cell.ask('instance.delete', { operation: newer })

  const older = operationOn(newer.serverId, 2)
  const answer = await cell.ask('instance.build', { operation: older, build: sampleBuild() })

  expect(answer).toMatchObject({ outcome: 'refused' })
  expect(await tracesOf(one, hosts, newer.serverId)).toEqual([])
})

test('a delete of a newer attempt ends the older one here, and no build of the newer is taken any more', async () => {
  const older = operationOn()
  const newer = operationOn(older.serverId, 2)
  await cell.ask('instance.build', { operation: older, build: sampleBuild() })
  await cell.waitForFeed('instance', isActive(older.serverId))

  expect(await cell.ask('instance.delete', { operation: newer })).toMatchObject({
    outcome: 'deleting',
  })
  const late = () => cell.ask('instance.build', { operation: newer, build: sampleBuild() })
  expect(await late()).toEqual({ outcome: 'deleted' })
  await cell.waitForFeed(
    'deleted',
    (body) => body.serverId === older.serverId && body.attempt === 2,
  )

  expect(await late()).toEqual({ outcome: 'deleted' })
  expect(await tracesOf(one, hosts, older.serverId)).toEqual([])
})

test('a build and its delete racing end with one answer and nothing left', async () => {
  const operations = Array.from({ length: 12 }, () => operationOn())

  await Promise.all(
    operations.flatMap((operation) => [
      cell.ask('instance.build', { operation, build: sampleBuild() }),
      cell.ask('instance.delete', { operation }),
    ]),
  )

  for (const operation of operations) {
    await expect.poll(() => tracesOf(one, hosts, operation.serverId)).toEqual([])
    expect(await cell.ask('instance.delete', { operation })).toEqual({ outcome: 'deleted' })
    expect(await cell.ask('instance.build', { operation, build: sampleBuild() })).toEqual({
      outcome: 'deleted',
    })
  }
  const { held, counted } = await usageOf(one)
  expect(counted).toBe(held)
})

test('a host that takes long is waited for, and a delete meanwhile ends its work', async () => {
  const operation = operationOn()
  for (const { driver } of hosts)
    driver.faults.set([{ method: 'spawn', instance: operation.serverId, effect: { do: 'hang' } }])
  await cell.ask('instance.build', { operation, build: sampleBuild() })

  const answer = await cell.ask('instance.delete', { operation })

  expect(answer).toMatchObject({ outcome: 'deleting', view: { taskState: 'deleting' } })
  await cell.waitForFeed('deleted', ({ serverId }) => serverId === operation.serverId)
  expect(await tracesOf(one, hosts, operation.serverId)).toEqual([])
})

test('hosts that all fail end in not-built, with nothing left and never an error', async () => {
  const operation = operationOn()
  for (const { driver } of hosts)
    driver.faults.set([
      {
        method: 'spawn',
        instance: operation.serverId,
        effect: { do: 'fail', kind: 'unsupported', message: 'no such machine' },
      },
    ])

  await cell.ask('instance.build', { operation, build: sampleBuild() })

  const ended = await cell.waitForFeed(
    'not-built',
    ({ serverId }) => serverId === operation.serverId,
  )
  // What each host said, and not only that none is left.
  expect(ended.reason).toMatch(/^Host \S+ could not build it: .+ Host \S+ could not build it: /)
  expect(await tracesOf(one, hosts, operation.serverId)).toEqual([])
  const states = cell.feed.flatMap(({ body }) =>
    body.kind === 'instance' && body.view.serverId === operation.serverId
      ? [body.view.vmState]
      : [],
  )
  expect(states).not.toContain('error')
  expect(await cell.ask('instance.build', { operation, build: sampleBuild() })).toMatchObject({
    outcome: 'refused',
  })
})

test('a process refuses an unknown request at once', async () => {
  const { processId } = one.cell
  const known = processSubject(cell.id, processId, 'instance.audit')
  const asked = (subject: string) =>
    ask(cell.gateway, {
      subject,
      payload: { serverId: newId() },
      work: workContext({}),
      timeoutMs: 10_000,
      whom: 'Cell test',
    })

  expect(await asked(known)).toEqual({ view: null, heldOn: [] })
  for (const other of ['instance.fly', 'instance'].map((to) => known.replace('instance.audit', to)))
    await expect(asked(other)).rejects.toMatchObject({ kind: 'unsupported' })
  const later = known.replace(`v${WIRE_VERSION}`, `v${WIRE_VERSION + 1}`)
  await expect(asked(later)).rejects.toMatchObject({ kind: 'unsupported' })
})
