import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningCell } from '#cells/context.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('boot')
  running = await cell.addProcess('one')
  await cell.addHost({ name: 'host-a' })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell[Symbol.asyncDispose]())

test('a build is accepted with a claim, and becomes active', async () => {
  const operation = operationOn()

  const answer = await cell.ask('instance.build', { operation, build: sampleBuild() })

  expect(answer).toMatchObject({
    outcome: 'accepted',
    view: { serverId: operation.serverId, vmState: 'building', host: 'host-a', version: 1 },
    trace: { chosen: 'host-a', considered: 1 },
  })
  const { view } = await cell.waitForFeed('instance', ({ view }) => view.vmState === 'active')
  expect(view).toMatchObject({ serverId: operation.serverId, taskState: null, powerState: 1 })
})
