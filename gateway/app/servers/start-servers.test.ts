import { afterAll, beforeAll, expect, test } from 'vitest'
import { MortalDatabase } from '#common/saga/testing.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { RunningCompute } from '../open-compute.ts'
import { startServers } from './start-servers.ts'

let env: CoreEnv
let core: RunningCompute

beforeAll(async () => {
  env = await CoreEnv.open('boot', ['north', 'south'])
  core = await env.core()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

const isActive = ({ vmState }: { vmState: string }) => vmState === 'active'

test('a server that is promised is built in its cell and shown as the cell says', async () => {
  const order = orderFor(env.cells[0]!)
  const { id } = order.servers[0]!.row

  const [run] = await startServers(core, work(), order)

  expect(await env.server(id)).toMatchObject({ vmState: 'building', cellId: env.cells[0]!.id })
  expect(await run!.finished).toBe('done')
  const server = await env.until(id, isActive)
  expect(server).toMatchObject({ attempt: 1, version: 2, host: 'north-host-1', powerState: 1 })
  expect(env.cells[0]!.builds.filter((build) => build.operation.serverId === id)).toHaveLength(1)
})

test('a boot costs two durable commits: one before the answer, one at the cell’s', async () => {
  const counting = new MortalDatabase(env.db, Number.POSITIVE_INFINITY, 'after')
  // Never the feed's leaseholder here: batched feed writes are counted apart.
  await using other = await env.core({ db: counting })
  const order = orderFor(env.cells[0]!)
  const before = counting.transactions

  const [run] = await startServers(other, work(), order)
  const atAnswer = counting.transactions - before
  await run!.finished

  expect(atAnswer).toBe(1)
  expect(counting.transactions - before).toBe(2)
})
