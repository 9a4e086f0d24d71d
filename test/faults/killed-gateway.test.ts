import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CallOptions } from '#test/env/api/client.ts'
import { createServer, SERVERS, untilGone, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { isFullRun } from '../env/full-run.ts'

/** A lease runs out after 10 s; another gateway then continues the work of its holder. */
const TAKEN_UP_LIMIT_MS = 60_000

const FIRST: CallOptions = { gateway: 0 }

let cloud: Cloud

beforeAll(async () => {
  cloud = await startCloud({ outside: ['gateway'] })
})

/** Both gateways run, and clients ask both. */
beforeEach(async () => {
  for (const [place, gateway] of cloud.gateways.entries()) {
    if (!gateway.isRunning) await gateway.start()
    cloud.remember(place)
  }
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const freezeCells = () => {
  for (const cell of cloud.cells) for (const process of cell.processes) process.freeze()
}
const thawCells = () => {
  for (const cell of cloud.cells) for (const process of cell.processes) process.thaw()
}

test('servers promised by a gateway that is killed are built by the other one', async () => {
  const demo = cloud.as('demo')
  freezeCells()
  const ids = [
    await createServer(cloud, demo, {}, FIRST),
    await createServer(cloud, demo, {}, FIRST),
  ]

  await cloud.gateways[0]?.kill()
  cloud.forget(0)
  thawCells()

  for (const id of ids) await untilStatus(demo, id, 'ACTIVE', TAKEN_UP_LIMIT_MS)
  await expectInvariants(cloud, TAKEN_UP_LIMIT_MS)
})

test('two gateways that both go on with a boot make one server', async () => {
  const demo = cloud.as('demo')
  freezeCells()
  const id = await createServer(cloud, demo, {}, FIRST)

  cloud.gateways[0]?.freeze()
  thawCells()
  cloud.forget(0)
  await untilStatus(demo, id, 'ACTIVE', TAKEN_UP_LIMIT_MS)
  cloud.gateways[0]?.thaw()

  await expectInvariants(cloud, TAKEN_UP_LIMIT_MS)
})

test.runIf(isFullRun)('a gateway that is killed and started again continues its work', async () => {
  const demo = cloud.as('demo')
  await cloud.gateways[1]?.kill()
  cloud.forget(1)
  freezeCells()
  const built = await createServer(cloud, demo, { name: 'built' }, FIRST)
  const deleted = await createServer(cloud, demo, { name: 'deleted' }, FIRST)
  expect((await demo.delete(`${SERVERS}/${deleted}`, FIRST)).status).toBe(204)

  await cloud.gateways[0]?.kill()
  thawCells()
  await cloud.gateways[0]?.start()

  await untilStatus(demo, built, 'ACTIVE', TAKEN_UP_LIMIT_MS)
  await untilGone(demo, deleted, TAKEN_UP_LIMIT_MS)
  await expectInvariants(cloud, TAKEN_UP_LIMIT_MS)
})
