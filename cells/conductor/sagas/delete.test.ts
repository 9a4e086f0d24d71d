import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { cellEngine, tracesOf, usageOf } from '#test/env/cell-engine.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { findInstance } from '../../db/instances.ts'
import { groupMembersByHost } from '../../placement/group.ts'
import { type DeleteParams, deleteSaga } from './delete.ts'

// Goal: from its first commit on a delete leaves nothing, whatever fails, repeats or dies.

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('delete_saga')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

async function startOf(operation: OperationRef) {
  const id = operation.serverId as InstanceId
  const instance = await findInstance(running.cell.conductor.db, id)
  if (instance === undefined) throw new Error('no instance')
  const params: DeleteParams = { operation, instance, startedAt: 1 }
  return { subject: id, params, work: workContext({}) }
}

const left = (operation: OperationRef) => tracesOf(running, [host], operation.serverId)

test.each([
  ['', undefined],
  [' of a member of a group', 'anti-affinity' as const],
])('a delete%s commits twice', async (_, policy) => {
  const group = policy && { id: newId<string>(), policy, maxPerHost: 2 }
  const operation = await cell.activeServer({ ...sampleBuild(), ...(group && { group }) })
  const counting = new CrashingDatabase(
    running.cell.conductor.db,
    Number.POSITIVE_INFINITY,
    'after',
  )
  await using engine = await cellEngine(running, deleteSaga, counting)

  const run = await engine.start(deleteSaga, await startOf(operation))

  expect(await run.finished).toBe('done')
  expect(counting.transactions).toBe(2)
  expect(await left(operation)).toEqual([])
  if (group !== undefined) expect(await groupMembersByHost(counting, group.id)).toEqual(new Map())
})

test.each(
  trialsOf(deleteSaga)
    // What fails in the first transaction was never promised, and the undo of nothing is nothing.
    .filter(({ ends }) => ends === 'done')
    .map((trial) => [trial.label, trial] as const),
)('a delete that %s leaves nothing', async (_label, trial) => {
  const operation = await cell.activeServer()
  await using engine = await cellEngine(running, trial.saga)

  const run = await engine.start(trial.saga, await startOf(operation))

  expect(await run.finished).toBe(trial.ends)
  expect(await left(operation)).toEqual([])
  const { held, counted } = await usageOf(running)
  expect(counted).toBe(held)
})

test.each([1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
  'a process killed at commit %i, %s it, is succeeded by one that ends the delete',
  async (dieAt, when) => {
    const operation = await cell.activeServer()
    const processName = `crashing-${operation.serverId.slice(-12)}`
    const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
    const start = await startOf(operation)
    {
      await using doomed = await cellEngine(running, deleteSaga, crashing, processName)
      const run = await doomed.start(deleteSaga, start).catch(() => undefined)
      await run?.finished
    }

    await using successor = await cellEngine(running, deleteSaga, undefined, processName)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    await expect
      .poll(() => left(operation))
      .toEqual(isPromised ? [] : ['instance active', 'allocation', 'guest on host'])
  },
)

test('a host that cannot destroy is asked again until it has', async () => {
  const operation = await cell.activeServer()
  host.driver.faults.set([
    { method: 'destroy', times: 1, effect: { do: 'fail', kind: 'internal' } },
  ])

  await cell.ask('instance.delete', { operation })

  await cell.waitForFeed('deleted', ({ serverId }) => serverId === operation.serverId)
  expect(await left(operation)).toEqual([])
})

test('a host that cannot destroy says why, once, while it is asked again', async () => {
  const operation = await cell.activeServer()
  const { serverId } = operation
  const effect = {
    do: 'fail',
    kind: 'internal',
    message: 'The guest stays.',
    detail: 'error 9',
  } as const
  host.driver.faults.set([{ method: 'destroy', times: 3, effect }])

  await cell.ask('instance.delete', { operation })

  const reason = 'The guest stays. (error 9)'
  const { view } = await cell.waitForFeed(
    'instance',
    (row) => row.view.serverId === serverId && row.view.fault !== null,
  )
  expect(view).toMatchObject({
    vmState: 'error',
    taskState: 'deleting',
    fault: { message: "The action 'delete' failed.", details: reason },
  })
  await cell.waitForFeed('deleted', (row) => row.serverId === serverId)
  const ended = cell.feed.flatMap(({ body }) =>
    body.kind === 'action-event' &&
    body.event.serverId === serverId &&
    body.event.event === 'compute_terminate_instance'
      ? [[body.event.result, body.event.details]]
      : [],
  )
  expect(ended).toEqual([
    ['Error', reason],
    ['Success', null],
  ])
  expect(await left(operation)).toEqual([])
})
