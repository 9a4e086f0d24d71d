import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import { eventName } from '../action-event.ts'

let cell: TestCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('boot_preempted')
  const running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

test.each([
  ['slow', { do: 'slow', ms: 500 }],
  ['failing', { do: 'fail', kind: 'unavailable' }],
] as const)('a delete during a %s build ends the build’s event as an error', async (_, effect) => {
  host.driver.faults.set([{ method: 'spawn', effect }])
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: sampleBuild() })

  await cell.ask('instance.delete', { operation: { ...operation, id: operationOn().id } })

  const { serverId } = operation
  const { event } = await cell.waitForFeed(
    'action-event',
    (row) => row.event.serverId === serverId && row.event.event === eventName('build'),
  )
  expect(event).toMatchObject({ result: 'Error', host: 'host' })
  expect(event.details).toBe('The server was deleted while it was being built.')
  await cell.waitForFeed('deleted', (row) => row.serverId === serverId)
})
