import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostId, type InstanceId, newId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { waitFor } from '#common/wait-for.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { tracesOf } from '#test/env/cell-engine.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { testServices } from '#test/env/services.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { findInstance } from '../db/instances.ts'

// Goal: what is wanted of servers on a host that is dead comes true once it is known that nothing runs there.

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('dead_hosts')
  running = await cell.addProcess('one')
})

afterAll(() => cell?.[Symbol.asyncDispose]())

async function settled({ serverId }: OperationRef) {
  const instance = await findInstance(running.cell.conductor.db, serverId as InstanceId)
  return [instance?.vmState, instance?.taskState, instance?.powerState, instance?.sagaId]
}

/** A server on a host of its own, which then dies; `revive` starts the host again. */
async function serverOnDeadHost(zone: string) {
  const { directory } = await testServices()
  const stateDirectory = mkdtempSync(join(directory, `${zone}-`))
  const options = { name: zone, id: newId<HostId>(), stateDirectory, zone }
  const dead = await cell.addHost(options)
  const operation = operationOn()
  await waitFor(
    'the host',
    () => running.cell.conductor.hosts.get(dead.id)?.provider?.limits,
    10_000,
  )
  await cell.ask('instance.build', { operation, build: sampleBuild({ zone }) })
  await expect.poll(() => settled(operation)).toEqual(['active', null, 1, null])
  await dead[Symbol.asyncDispose]()
  return { hostId: dead.id, operation, revive: () => cell.addHost(options) }
}

test('a delete waits, ends when the host is declared down, and the guest is removed when the host returns', async () => {
  const { hostId, operation, revive } = await serverOnDeadHost('dead')

  expect(await cell.ask('instance.delete', { operation })).toMatchObject({ outcome: 'deleting' })
  await cell.ask('host.set-service', { hostId, isForcedDown: true })

  await cell.waitForFeed('deleted', ({ serverId }) => serverId === operation.serverId)
  const back = await revive()
  await expect.poll(() => tracesOf(running, [back], operation.serverId)).toEqual([])
})

test('a stop waits, ends when the host is declared down, and the guest is off when the host returns', async () => {
  const { hostId, operation, revive } = await serverOnDeadHost('stopped')

  const stop = { operation: { ...operation, id: newId() }, act: { name: 'stop' } } as const
  await cell.ask('instance.act', stop)
  expect((await settled(operation)).slice(0, 2)).toEqual(['active', 'powering-off'])
  await cell.ask('host.set-service', { hostId, isForcedDown: true })

  const off = ['stopped', null, POWER_STATES.shutdown, null]
  await expect.poll(() => settled(operation)).toEqual(off)
  const back = await revive()
  // Its guest ran on: the operator was wrong.
  await cell.ask('host.set-service', { hostId, isForcedDown: false })
  await expect
    .poll(async () => (await back.driver.list(AbortSignal.timeout(5_000)))[0]?.powerState)
    .toBe('shutdown')
  await expect.poll(() => settled(operation)).toEqual(off)
})
