import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { type PrivateServices, privateServices } from '#test/env/private-services.ts'

// Goal: a cell survives the loss of its database and of its bus. Method: the test starts the cell's processes without a
// launcher that would restart them, and kills the database, the bus or the processes in the middle of a boot.

const LIMIT_MS = 60_000

let services: PrivateServices
let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  services = await privateServices()
  cloud = await startCloud({ cells: 1, outside: ['cell'], services: services.services })
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  await services?.[Symbol.asyncDispose]()
})

/** How often processes of cells have said this. */
function countLogged(text: string): number {
  const { directory } = cloud.foundation
  const names = cloud.cells.flatMap(({ processes }) => processes.map(({ name }) => name))
  const logs = names.map((name) => readFileSync(join(directory, `${name}.log`), 'utf8'))
  return logs.join('').split(text).length - 1
}

/** How often they have begun to serve. */
const starts = () => countLogged('"cell serves"')

/** A server whose host is at work on it and does not get on. */
async function hangingBoot(): Promise<string> {
  for (const host of cloud.hosts) host.fail({ method: 'spawn', effect: { do: 'hang' } })
  const id = await createServer(cloud, demo)
  const asked = async () => {
    const { body } = await demo.get<{ readonly server: Readonly<Record<string, unknown>> }>(
      `/compute/v2.1/servers/${id}`,
    )
    return body.server['OS-EXT-STS:task_state'] === 'spawning'
  }
  await waitFor('a host to be asked', asked, LIMIT_MS)
  return id
}

test.each([
  ['MariaDB', () => services.killMariadb(), () => services.restartMariadb()],
  ['NATS', () => services.killNats(), () => services.restartNats()],
])(
  'a cell that loses %s in the middle of a boot ends it when that is back',
  async (_, kill, back) => {
    const before = starts()
    const running = await activeServer(cloud, demo)
    const booting = await hangingBoot()

    await kill()
    for (const host of cloud.hosts) host.fail()
    await back()
    await cloud.waitUntilWhole()

    await untilStatus(demo, booting, 'ACTIVE', LIMIT_MS)
    await deleteServer(demo, running.id)
    await untilStatus(demo, await createServer(cloud, demo), 'ACTIVE', LIMIT_MS)
    expect(starts()).toBe(before)
    await expectInvariants(cloud)
  },
)

test('a boot in whose middle the processes of its cell are killed is ended in an isolated process', async () => {
  const booting = await hangingBoot()
  const processes = cloud.cells.flatMap((cell) => cell.processes)
  const before = countLogged('"isolated tasks started"')

  for (const each of processes) await each.kill()
  for (const host of cloud.hosts) host.fail()
  for (const each of processes) await each.start()

  await untilStatus(demo, booting, 'ACTIVE', LIMIT_MS)
  expect(countLogged('"isolated tasks started"')).toBeGreaterThan(before)
  expect(countLogged('"saga stuck"')).toBe(0)
  await expectInvariants(cloud)
})
