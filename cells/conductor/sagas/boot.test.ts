import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import type { SagaEngine } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { OperationRef, ServerGroupRule } from '#openapi/wire/instance.ts'
import { cellEngine, tracesOf, usageOf } from '#test/env/cell-engine.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { insertBuildRecord } from '../../db/operations.ts'
import { groupMembersByHost } from '../../placement/group.ts'
import { resourcesOf } from '../../placement/resources.ts'
import type { Conductor } from '../conductor.ts'
import type { BootParams } from './boot/params.ts'
import { bootSaga } from './boot.ts'

// Goal: whatever fails, repeats or dies during a boot, there is one server with one claim, or nothing at all.

let cell: TestCell
let running: RunningCell
let good: TestHost
let bad: TestHost

beforeAll(async () => {
  cell = await testCell('boot_saga')
  running = await cell.addProcess('one')
  good = await cell.addHost({ name: 'good' })
  // The emptier host comes first; on this one every spawn fails.
  bad = await cell.addHost({ name: 'bad', vcpus: 1_000, memoryMb: 1_000_000, diskGb: 100_000 })
  bad.driver.faults.set([{ method: 'spawn', effect: { do: 'fail', kind: 'unsupported' } }])
  await cell.waitForHosts(running, 2)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

async function boot(
  engine: SagaEngine<Conductor>,
  saga: Saga<Conductor, BootParams>,
  operation: OperationRef,
  first: TestHost,
  group?: ServerGroupRule,
) {
  const build = sampleBuild()
  const { builds } = running.cell.conductor
  builds.keep({ id: operation.serverId as InstanceId, attempt: 1 }, build)
  const { projectId } = build
  const resources = resourcesOf(build)
  const of = { operation, projectId, resources, candidates: [first.id], startedAt: 1 }
  const params = { ...of, ...(group && { group }) }
  const run = await engine.start(saga, {
    subject: operation.serverId,
    params,
    work: workContext({}),
    before: async (tx) => {
      await insertBuildRecord(tx, { operation, outcome: 'accepted', trace: '{}' })
    },
  })
  return run.finished
}

const left = (operation: OperationRef) => tracesOf(running, [good, bad], operation.serverId)
const SERVER = ['instance active', 'allocation', 'guest on good']

const apart: ServerGroupRule = { id: newId(), policy: 'anti-affinity', maxPerHost: 1 }

test.each([
  ['', undefined],
  [' into a group', apart],
])('a boot%s commits twice', async (_, group) => {
  const operation = operationOn()
  const counting = new CrashingDatabase(
    running.cell.conductor.db,
    Number.POSITIVE_INFINITY,
    'after',
  )
  await using engine = await cellEngine(running, bootSaga, counting)

  expect(await boot(engine, bootSaga, operation, good, group)).toBe('done')

  expect(counting.transactions).toBe(2)
  if (group !== undefined)
    expect(await groupMembersByHost(counting, group.id)).toEqual(new Map([[good.id, 1]]))
  expect(await left(operation)).toEqual(SERVER)
})

test('a boot whose group keeps it off its host leaves nothing there', async () => {
  const operation = operationOn()
  await using engine = await cellEngine(running, bootSaga)

  await expect(boot(engine, bootSaga, operation, good, apart)).rejects.toMatchObject({
    kind: 'no-capacity',
  })

  expect(await left(operation)).toEqual([])
  const { db } = running.cell.conductor
  expect(await groupMembersByHost(db, apart.id)).toEqual(new Map([[good.id, 1]]))
})

const direct = ['claim-1', 'spawn-1', 'activate']
const again = ['claim-1', 'spawn-1', 'claim-2', 'spawn-2', 'activate']

test.each([
  ...trialsOf(bootSaga, (step) => direct.includes(step)).map(
    (trial) => [trial.label, 'good', trial] as const,
  ),
  ...trialsOf(bootSaga, (step) => again.includes(step)).map(
    (trial) => [trial.label, 'bad', trial] as const,
  ),
])(
  'a boot that %s, beginning on a %s host, leaves one server or nothing',
  async (_label, first, trial) => {
    const operation = operationOn()
    await using engine = await cellEngine(running, trial.saga)

    // What fails in the first transaction was never promised.
    const outcome = await boot(engine, trial.saga, operation, first === 'good' ? good : bad).catch(
      () => 'unwound',
    )

    expect(outcome).toBe(trial.ends)
    expect(await left(operation)).toEqual(trial.ends === 'done' ? SERVER : [])
    const { held, counted } = await usageOf(running)
    expect(counted).toBe(held)
  },
)

const deaths = (commits: number) =>
  Array.from({ length: commits }, (_, index) => index + 1).flatMap((nth) => [
    [nth, 'before'] as const,
    [nth, 'after'] as const,
  ])

test.each([
  ...deaths(2).map((death) => [...death, 'good'] as const),
  ...deaths(3).map((death) => [...death, 'bad'] as const),
])(
  'a process killed at commit %i, %s it, beginning on a %s host, is succeeded by one that ends the boot',
  async (dieAt, when, first) => {
    const operation = operationOn()
    const processName = `crashing-${operation.serverId.slice(-12)}`
    const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
    {
      await using doomed = await cellEngine(running, bootSaga, crashing, processName)
      await boot(doomed, bootSaga, operation, first === 'good' ? good : bad).catch(() => 'lost')
      running.cell.conductor.builds.drop({ id: operation.serverId as InstanceId, attempt: 1 })
    }

    await using successor = await cellEngine(running, bootSaga, undefined, processName)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    await expect.poll(() => left(operation)).toEqual(isPromised ? SERVER : [])
  },
)
