import { afterAll, beforeAll, expect, test } from 'vitest'
import { USUAL_FILTERS } from '#cells/scheduler/filters.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// A cell that runs the NumInstancesFilter, whose only host may have one server.

const AGGREGATES = '/compute/v2.1/os-aggregates'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const cell = {
    CELL_SCHEDULING_FILTERS: [...USUAL_FILTERS, 'NumInstancesFilter'].join(','),
    CELL_MAX_INSTANCES_PER_HOST: '1',
  }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, cell })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

/** What operators are told of why a server is nowhere. */
const whyOf = async (id: string) =>
  JSON.stringify((await admin.get<Loose>(`/federation/v1/servers/${id}/trace`)).body)

async function refusedServer(): Promise<string> {
  const id = await createServer(cloud, demo)
  await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('NumInstancesFilter')
  return id
}

test('of servers asked for at once a host takes as many as its cell allows', async () => {
  const ids = await Promise.all([1, 2, 3].map(() => createServer(cloud, demo)))
  const ends = await Promise.allSettled(ids.map((id) => untilStatus(demo, id, 'ACTIVE')))

  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
  expect(refused).toHaveLength(2)
  for (const reason of refused) expect(reason).toContain('NumInstancesFilter')
  for (const id of ids) await deleteServer(demo, id)
})

test('a host takes no more servers than its cell or aggregate allows, and operators see which of them', async () => {
  const first = await activeServer(cloud, demo)
  const second = await refusedServer()
  expect(await whyOf(second)).toContain('has 1 instances, max_instances_per_host of the cell is 1')

  // The host is full of itself alone.
  await act(demo, first.id, { resize: { flavorRef: cloud.catalog.small } })
  await untilStatus(demo, first.id, 'VERIFY_RESIZE')
  await act(demo, first.id, { confirmResize: null })
  await untilStatus(demo, first.id, 'ACTIVE')

  const { body } = await admin.post<{ aggregate: { id: number } }>(AGGREGATES, {
    aggregate: { name: 'dense' },
  })
  const dense = `${AGGREGATES}/${body.aggregate.id}/action`
  const metadata = { max_instances_per_host: '2' }
  await admin.post(dense, { set_metadata: { metadata } })
  expect((await admin.post(dense, { add_host: { host: cloud.hosts[0]!.name } })).status).toBe(200)
  const third = await activeServer(cloud, demo)
  const fourth = await refusedServer()
  expect(await whyOf(fourth)).toContain(
    `has 2 instances, max_instances_per_host of aggregate ${body.aggregate.id} is 2`,
  )

  for (const id of [first.id, second, third.id, fourth]) await deleteServer(demo, id)
  await activeServer(cloud, demo)
  await expectInvariants(cloud)
})
