import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { CellAct } from '#openapi/wire/act.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { recordReport } from '../../hosts/record-report.ts'

/** More than a decision names. */
const OTHERS = 11
const LARGE = { vcpus: 1_000, memoryMb: 1_000_000, diskGb: 100_000 }

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('destinations')
  running = await cell.addProcess('one')
  const small = { vcpus: 4, memoryMb: 4_096, diskGb: 10 }
  await cell.addHost({ name: 'here', ...small })
  await cell.waitForHosts(running, 1)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

/** To more than its host has. */
const resize = (serverId: string) => {
  const { flavor } = sampleBuild()
  const act: CellAct = {
    name: 'resize',
    build: sampleBuild({ flavor: { ...flavor, id: 'large', vcpus: 5 } }),
    previous: flavor,
    userId: 'user',
  }
  return cell.ask('instance.act', { operation: { id: newId(), serverId, attempt: 1 }, act })
}

/** Larger hosts of another driver, which a decision prefers. */
async function addOthers(): Promise<void> {
  const { conductor } = running.cell
  for (let nth = 0; nth < OTHERS; nth += 1) {
    const { name, simulated, down, inventory } = sampleHost(`other-${nth}`)
    await recordReport(conductor, {
      ...{ name, simulated, down, hostId: newId(), zone: null, driver: 'docker' },
      inventory: { ...inventory!, ...LARGE, imageFormats: ['qcow2', 'raw'] },
      capabilities: ['move', 'liveMove'],
      instances: [],
      startedAt: Date.now(),
    })
  }
  await conductor.hosts.refresh()
}

test('a server moves to a host of its driver, however many better ones there are of others', async () => {
  const { serverId } = await cell.activeServer()
  await addOthers()
  await cell.waitForHosts(running, OTHERS + 1)

  await expect(resize(serverId)).rejects.toMatchObject({
    kind: 'no-capacity',
    message: expect.stringContaining(
      'MoveFilter refused the last of 12 (other-0 is of the driver docker, the server is on one of fake)',
    ),
  })

  await cell.addHost({ name: 'there', vcpus: 8, memoryMb: 4_096, diskGb: 10 })
  await cell.waitForHosts(running, OTHERS + 2)
  await resize(serverId)
  const moved = await cell.waitForFeed('instance', ({ view }) => view.vmState === 'resized')
  expect(moved.view.host).toBe('there')
})
