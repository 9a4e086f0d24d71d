import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_FILTERS } from '#cells/scheduler/filters.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'

// Goal: decisions know what hosts have to do at the moment, and on which of them builds have failed.

let cell: TestCell
let running: RunningCell
let [good, bad]: TestHost[] = []

beforeAll(async () => {
  cell = await testCell('host_registry')
  running = await cell.addProcess('one', { filters: [...DEFAULT_FILTERS, 'IoOpsFilter'] })
  good = await cell.addHost({ name: 'good' })
  bad = await cell.addHost({ name: 'bad', vcpus: 1_000, memoryMb: 1_000_000, diskGb: 100_000 })
  await cell.waitForHosts(running, 2)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const boot = async () => {
  const answer = await cell.ask('instance.build', {
    operation: operationOn(),
    build: sampleBuild(),
  })
  return answer.outcome
}
const stateOf = ({ id }: TestHost) => running.cell.conductor.hosts.state(id)
/** How many servers are being built on the host that is chosen first. */
const builds = async () => {
  await running.cell.conductor.hosts.refresh()
  return stateOf(bad!)?.ioOps
}
const first = async () => {
  const { trace } = await cell.ask('placement.explain', sampleBuild())
  return trace.scores[0]?.candidate
}

test('a host counts the servers that are being built on it, until they are', async () => {
  bad!.driver.faults.set([{ method: 'spawn', effect: { do: 'hang' } }])

  expect(await boot()).toBe('accepted')
  // A refresh that read before the claim may write what it read after it; the next one puts it right.
  await expect.poll(() => stateOf(bad!)?.ioOps).toBe(1)
  await running.cell.conductor.hosts.refresh()
  expect(stateOf(bad!)?.ioOps).toBe(1)

  bad!.driver.faults.set([])
  await expect.poll(builds).toBe(0)
})

test('claims say which of them the hosts as read may lack', async () => {
  const { hosts } = running.cell.conductor
  const taken = { resources: { vcpus: 0, memoryMb: 0, diskGb: 0 } }
  // Reads that other work began end first.
  await hosts.refresh()
  const settled = hosts.reserve(good!.id, taken)
  hosts.settleClaim(settled)
  const open = hosts.reserve(good!.id, taken)
  const reading = hosts.refresh()
  const during = hosts.reserve(good!.id, taken)
  await reading

  expect(hosts.claims()?.made).toBe(during)
  expect(hosts.claims()?.unread).toEqual(expect.arrayContaining([open, during]))
  expect(hosts.claims()?.unread).not.toContain(settled)

  hosts.settleClaim(open)
  hosts.settleClaim(during)
  await expect.poll(() => hosts.refresh().then(() => hosts.claims()?.unread)).toEqual([])
})

test('claims that are too many to name are not told, so that no gateway refuses the heartbeat', async () => {
  const { hosts } = running.cell.conductor
  const taken = { resources: { vcpus: 0, memoryMb: 0, diskGb: 0 } }
  const open = Array.from({ length: 1_001 }, () => hosts.reserve(good!.id, taken))
  await hosts.refresh()
  expect(hosts.claims()).toBeUndefined()

  for (const nth of open) hosts.settleClaim(nth)
  await expect.poll(() => hosts.refresh().then(() => hosts.claims()?.unread)).toEqual([])
})

test('an accepted server has the number of its claim, which heartbeats count', async () => {
  const ask = { operation: operationOn(), build: sampleBuild() }
  const answer = await cell.ask('instance.build', ask)

  expect(answer).toMatchObject({
    outcome: 'accepted',
    claim: { processId: running.cell.processId, nth: running.cell.conductor.hosts.claims()!.made },
  })
})

test('a host on which a build failed comes last, until one succeeds there', async () => {
  // The server of the test before would fail, too, and count.
  await expect.poll(builds).toBe(0)
  expect(await first()).toBe('bad')
  bad!.driver.faults.set([{ method: 'spawn', effect: { do: 'fail', kind: 'unsupported' } }])

  expect(await boot()).toBe('accepted')
  await expect.poll(() => stateOf(bad!)?.buildFailures).toBe(1)
  expect(await first()).toBe('good')

  bad!.driver.faults.set([])
  running.cell.conductor.hosts.recordBuild(bad!.id, true)
  expect(await first()).toBe('bad')
  expect(stateOf(good!)?.buildFailures).toBe(0)
})

test('aggregates say how far a host is overcommitted, for claims and in reports', async () => {
  const stored = async (metadata: Record<string, string>) => {
    const aggregates = [{ id: 1, metadata }]
    const view = await cell.ask('host.set-aggregates', { hostId: good!.id, aggregates })
    return [view.ratios.vcpus, stateOf(good!)?.limits.vcpus]
  }
  const vcpus = running.cell.conductor.hosts.get(good!.id)!.inventory!.vcpus

  expect(await stored({ cpu_allocation_ratio: '2' })).toEqual([2, 2 * vcpus])
  expect(await stored({ cpu_allocation_ratio: 'many' })).toEqual([16, 16 * vcpus])
})
