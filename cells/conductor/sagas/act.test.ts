import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { findInstance } from '../../db/instances.ts'
import { type ActParams, actSaga } from './act.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('act_saga')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

async function instanceOf({ serverId }: OperationRef) {
  const instance = await findInstance(running.cell.conductor.db, serverId as InstanceId)
  if (instance === undefined) throw new Error('no instance')
  return instance
}

async function stopStart(operation: OperationRef) {
  const instance = await instanceOf(operation)
  const params: ActParams = {
    operation: { ...operation, id: newId() },
    action: 'stop',
    sealed: null,
    instance,
    startedAt: 1,
  }
  return { subject: instance.id, params, work: workContext({}) }
}

const act = (operation: OperationRef, name: PlainAct) =>
  cell.ask('instance.act', { operation: { ...operation, id: newId() }, act: { name } })

const settled = async (operation: OperationRef) => {
  const { vmState, taskState, powerState, sagaId } = await instanceOf(operation)
  return [vmState, taskState, powerState, sagaId]
}

const guestOf = async ({ serverId }: OperationRef) => {
  const guests = await host.driver.list(AbortSignal.timeout(5_000))
  return guests.find(({ id }) => id === serverId)
}

const FORMER_AND_NEW = [['isWish'], ['isDesiredState']] as const
test.each(FORMER_AND_NEW)(
  'with %s, a server in the desired state already is left alone, and one with a task is unavailable',
  async (field) => {
    const operation = await cell.activeServer()
    const desire = (name: PlainAct) =>
      cell.ask('instance.act', {
        operation: { ...operation, id: newId() },
        act: { name },
        [field]: true,
      })

    expect(await desire('start')).toMatchObject({ view: { vmState: 'active', taskState: null } })
    // Longer than it takes to ask for something else.
    host.driver.faults.set([{ method: 'pause', times: 1, effect: { do: 'slow', ms: 1_000 } }])
    await act(operation, 'pause')
    await expect(desire('stop')).rejects.toMatchObject({ kind: 'unavailable' })
    await expect.poll(async () => (await settled(operation))[0]).toBe('paused')
    await expect(desire('stop')).rejects.toMatchObject({ kind: 'conflict' })
  },
)

test.each([
  ['stop', [], 'powering-off', ['stopped', null, 4, null]],
  ['start', ['stop'], 'powering-on', ['active', null, 1, null]],
  ['reboot-soft', [], 'rebooting', ['active', null, 1, null]],
  ['reboot-hard', ['stop'], 'rebooting_hard', ['active', null, 1, null]],
  ['pause', [], 'pausing', ['paused', null, 3, null]],
  ['unpause', ['pause'], 'unpausing', ['active', null, 1, null]],
  ['suspend', [], 'suspending', ['suspended', null, 4, null]],
  ['resume', ['suspend'], 'resuming', ['active', null, 1, null]],
  ['reboot-hard', ['suspend'], 'rebooting_hard', ['active', null, 1, null]],
  ['crash-dump', ['pause'], null, ['paused', null, 3, null]],
] as const)(
  '%s after %j shows its task and then its state',
  async (action, before, task, after) => {
    const operation = await cell.activeServer()
    for (const one of before) {
      await act(operation, one)
      await expect.poll(async () => (await settled(operation))[3]).toBeNull()
    }

    const { view } = await act(operation, action)

    expect(view.taskState).toBe(task)
    await expect.poll(() => settled(operation)).toEqual(after)
  },
)

test.each([
  ['start', [], 'start', 'active'],
  ['pause', ['stop'], 'pause', 'stopped'],
  ['reboot-soft', ['stop'], 'reboot', 'stopped'],
  ['unpause', [], 'unpause', 'active'],
] as const)('%s after %j is refused as Nova does', async (action, before, verb, state) => {
  const operation = await cell.activeServer()
  for (const one of before) {
    await act(operation, one)
    await expect.poll(async () => (await settled(operation))[3]).toBeNull()
  }

  await expect(act(operation, action)).rejects.toMatchObject({
    kind: 'conflict',
    message: `Cannot '${verb}' instance ${operation.serverId} while it is in vm_state ${state}`,
  })
})

test('a repeated reboot is answered alike and happens once', async () => {
  const operation = await cell.activeServer()
  const asked = { operation: { ...operation, id: newId() }, act: { name: 'reboot-hard' } } as const
  await cell.ask('instance.act', asked)
  await expect.poll(async () => (await settled(operation))[3]).toBeNull()
  const { version } = await instanceOf(operation)

  const { view } = await cell.ask('instance.act', asked)

  expect([view.version, view.taskState]).toEqual([version, null])
})

test('of many actions at once one is taken and the others are refused with a conflict', async () => {
  const operation = await cell.activeServer()
  // Longer than all of them take to ask: one that comes after the end of the first may rightly be taken.
  host.driver.faults.set([{ method: 'reboot', effect: { do: 'slow', ms: 1_000 } }])

  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, () => act(operation, 'reboot-soft')),
  )

  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  host.driver.faults.set([])
})

test.each([
  ['reboot-hard', 'rebooting_hard', ['active', null, 1, null]],
  ['soft-delete', 'soft-deleting', ['soft-delete', null, 4, null]],
] as const)('%s takes the guest from a soft reboot that hangs', async (action, task, after) => {
  const operation = await cell.activeServer()
  host.driver.faults.set([{ method: 'reboot', times: 1, effect: { do: 'hang' } }])
  await act(operation, 'reboot-soft')
  await expect.poll(() => host.driver.faults.struck).toBe(1)

  const { view } = await act(operation, action)

  expect(view.taskState).toBe(task)
  await expect.poll(() => settled(operation)).toEqual(after)
  const { event } = await cell.waitForFeed(
    'action-event',
    ({ event }) => event.serverId === operation.serverId && event.result === 'Error',
  )
  expect(event).toMatchObject({ details: 'Another action on the server ended it.' })
})

test('a server that is being stopped is not rebooted', async () => {
  const operation = await cell.activeServer()
  host.driver.faults.set([{ method: 'stop', times: 1, effect: { do: 'slow', ms: 500 } }])
  await act(operation, 'stop')

  await expect(act(operation, 'reboot-hard')).rejects.toMatchObject({
    message: `Cannot 'reboot' instance ${operation.serverId} while it is in task_state powering-off`,
  })
  await expect.poll(() => settled(operation)).toEqual(['stopped', null, 4, null])
})

test('an action that fails leaves the state as it was, with a fault', async () => {
  const operation = await cell.activeServer()
  host.driver.faults.set([
    { method: 'stop', times: 1, effect: { do: 'fail', kind: 'unsupported', message: 'cannot' } },
  ])

  await act(operation, 'stop')

  await expect.poll(() => settled(operation)).toEqual(['active', null, 1, null])
  expect((await instanceOf(operation)).fault).toMatchObject({ details: 'cannot' })
  const { event } = await cell.waitForFeed(
    'action-event',
    ({ event }) => event.serverId === operation.serverId && event.event === 'compute_stop_instance',
  )
  expect(event).toMatchObject({ result: 'Error', details: 'cannot' })
})

test.each(trialsOf(actSaga).map((trial) => [trial.label, trial] as const))(
  'a stop that %s leaves an instance that no saga holds',
  async (_label, trial) => {
    const operation = await cell.activeServer()
    await using engine = await cellEngine(running, trial.saga)
    const start = await stopStart(operation)

    const outcome = await engine
      .start(trial.saga, start)
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    const [vmState, taskState, , sagaId] = await settled(operation)
    expect([taskState, sagaId]).toEqual([null, null])
    // An undo does not start the guest again: the audit may already have found that it is off.
    const guest = await guestOf(operation)
    const possible = guest?.powerState === 'shutdown' ? ['active', 'stopped'] : ['active']
    expect(trial.ends === 'done' ? ['stopped'] : possible).toContain(vmState)
  },
)

test.each([1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
  'a process killed at commit %i, %s it, is succeeded by one that ends the stop',
  async (dieAt, when) => {
    const operation = await cell.activeServer()
    const processName = `crashing-${operation.serverId.slice(-12)}`
    const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
    const start = await stopStart(operation)
    {
      await using doomed = await cellEngine(running, actSaga, crashing, processName)
      const run = await doomed.start(actSaga, start).catch(() => undefined)
      await run?.finished
    }

    await using successor = await cellEngine(running, actSaga, undefined, processName)
    await successor.recover()

    const isPromised = dieAt > 1 || when === 'after'
    await expect
      .poll(() => settled(operation))
      .toEqual(isPromised ? ['stopped', null, 4, null] : ['active', null, 1, null])
  },
)
