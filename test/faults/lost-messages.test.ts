import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServer, SERVERS, showServer, untilGone, untilStatus } from '#test/env/api/servers.ts'
import type { CloudProcess } from '#test/env/cloud/cloud-process.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

/** A request that was lost is asked again after its deadline, of 10 s. */
const AGAIN_LIMIT_MS = 45_000

let cloud: Cloud

beforeEach(async () => {
  cloud = await startCloud({ cells: 1 })
})

afterEach(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

/** The two processes of the one cell. */
function processes(): readonly [CloudProcess, CloudProcess] {
  const [first, second] = cloud.cell('north').processes
  if (first === undefined || second === undefined) throw new Error('The cell has no two processes')
  return [first, second]
}

/** How many guests run for this server, on all hosts. */
async function guestsOf(id: string): Promise<number> {
  const guests = await Promise.all(cloud.hosts.map((host) => host.guests()))
  return guests.flat().filter((guest) => guest === id).length
}

test("a cell's answer is lost after its commit: the repeat finds the one server", async () => {
  const demo = cloud.as('demo')
  const lost = processes().map((process) =>
    process.wire('CELL_NATS_URL').loseNext('"outcome":"accepted"'),
  )

  const id = await createServer(cloud, demo)
  await Promise.race(lost)

  await untilStatus(demo, id, 'ACTIVE', AGAIN_LIMIT_MS)
  expect(await guestsOf(id)).toBe(1)
  await expectInvariants(cloud, AGAIN_LIMIT_MS)
})

test("a host's answer is lost after its spawn: it is asked again and runs one guest", async () => {
  const demo = cloud.as('demo')
  for (const host of cloud.hosts)
    host.fail({ method: 'spawn', times: 1, effect: { do: 'fail', kind: 'unavailable' } })

  const id = await createServer(cloud, demo)

  await untilStatus(demo, id, 'ACTIVE', AGAIN_LIMIT_MS)
  expect(await guestsOf(id)).toBe(1)
  await expectInvariants(cloud)
})

test('a build that one process answers too late is done once, by the process asked next', async () => {
  const demo = cloud.as('demo')
  const [late] = processes()
  late.freeze()

  const ids = await Promise.all(
    Array.from({ length: 6 }, (_, nth) => createServer(cloud, demo, { name: `s${nth}` })),
  )
  for (const id of ids) await untilStatus(demo, id, 'ACTIVE', AGAIN_LIMIT_MS)
  // By now its silence is noticed.
  const more = await Promise.all([createServer(cloud, demo), createServer(cloud, demo)])
  for (const id of more) await untilStatus(demo, id, 'ACTIVE', AGAIN_LIMIT_MS)
  late.thaw()

  await expectInvariants(cloud, AGAIN_LIMIT_MS)
  for (const id of [...ids, ...more]) expect(await guestsOf(id)).toBe(1)
})

test('a delete that overtakes its build leaves nothing, whenever the build arrives', async () => {
  const demo = cloud.as('demo')
  const [late, other] = processes()
  await other.stop()
  late.freeze()
  const id = await createServer(cloud, demo)
  await other.start()

  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
  await untilGone(demo, id, AGAIN_LIMIT_MS)
  late.thaw()

  await expectInvariants(cloud, AGAIN_LIMIT_MS)
  expect(await guestsOf(id)).toBe(0)
})

test('the cell waits for a host that does not answer: the server is built on no other host, and runs once the host is back', async () => {
  const demo = cloud.as('demo')
  const [host, spare] = cloud.cell('north').computes
  spare?.fail({ method: 'spawn', effect: { do: 'fail', kind: 'internal' } })
  host?.fail({ method: 'spawn', effect: { do: 'hang' } })
  const id = await createServer(cloud, demo)
  host?.process.freeze()
  host?.fail()
  spare?.fail()

  expect((await showServer(demo, id)).status).toBe('BUILD')
  expect(await spare?.guests()).toEqual([])
  host?.process.thaw()

  await untilStatus(demo, id, 'ACTIVE', AGAIN_LIMIT_MS)
  expect(await guestsOf(id)).toBe(1)
  await expectInvariants(cloud)
})

test('a host that is back after the delete of its server keeps no part of the server', async () => {
  const demo = cloud.as('demo')
  for (const host of cloud.hosts) host.fail({ method: 'spawn', effect: { do: 'hang' } })
  const id = await createServer(cloud, demo)
  for (const host of cloud.hosts) host.process.freeze()

  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
  for (const host of cloud.hosts) {
    host.fail()
    host.process.thaw()
  }

  await untilGone(demo, id, AGAIN_LIMIT_MS)
  await expectInvariants(cloud)
  expect(await guestsOf(id)).toBe(0)
})
