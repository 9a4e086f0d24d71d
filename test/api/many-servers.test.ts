import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  askForServer,
  SERVERS,
  type Server,
  showServer,
  smallServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: one request for many servers gets as many as the cells have hosts for, but at least its minimum or none.

/** Servers of 128 MiB. */
const PER_HOST = 3
const HOSTS = 4

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    cells: 2,
    hostsPerCell: HOSTS / 2,
    driver: { memory_mb: String(PER_HOST * 128) },
    cell: { CELL_RAM_ALLOCATION_RATIO: '1' },
  })
  demo = cloud.as('demo')
  await cloud.as('admin').put(`/compute/v2.1/os-quota-sets/${await cloud.projectId('demo')}`, {
    quota_set: { instances: -1, cores: -1, ram: -1 },
  })
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

afterEach(async () => {
  const left = await servers()
  await Promise.all(left.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  for (const { id } of left) await untilGone(demo, id)
  await expectInvariants(cloud)
})

async function servers(): Promise<readonly Server[]> {
  const { body } = await demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail`)
  return body.servers
}

test('as many as have room are made, and no more', async () => {
  const { status } = await askForServer(cloud, demo, { min_count: 2, max_count: 40 })

  expect(status).toBe(202)
  const made = await servers()
  expect(made).toHaveLength(HOSTS * PER_HOST)
  for (const { id } of made) await untilStatus(demo, id, 'ACTIVE')
})

test('none is built where fewer than the minimum have room, and each says why', async () => {
  const { status } = await askForServer(cloud, demo, { min_count: 13, max_count: 40 })

  expect(status).toBe(202)
  const made = await servers()
  expect(made).toHaveLength(13)
  expect(new Set(made.map((server) => server.status))).toEqual(new Set(['ERROR']))
  const { fault } = (await showServer(demo, made[0]!.id)) as { fault?: { message: string } }
  expect(fault?.message).toContain('No valid host')
})

test('a group is kept: of servers that must not share a host, one is made per host', async () => {
  const made = await demo.post<{ server_group: { id: string } }>('/compute/v2.1/os-server-groups', {
    server_group: { name: 'apart', policies: ['anti-affinity'] },
  })
  const { id: group } = made.body.server_group
  const body = {
    ...smallServer(cloud, { min_count: 1, max_count: 10 }),
    'os:scheduler_hints': { group },
  }

  expect((await demo.post(SERVERS, body)).status).toBe(202)

  const members = await servers()
  expect(members).toHaveLength(HOSTS)
  for (const { id } of members) await untilStatus(demo, id, 'ACTIVE')
  const shown = await Promise.all(members.map(({ id }) => showServer(demo, id)))
  expect(new Set(shown.map(({ hostId }) => hostId)).size).toBe(HOSTS)
})

test('where a cell does not say how many fit, it is asked to build them all the same', async () => {
  const { processes } = cloud.cell('north')
  for (const each of processes) each.freeze('CELL_NATS_URL')

  const { status } = await askForServer(cloud, demo, { min_count: HOSTS, max_count: HOSTS })
  for (const each of processes) each.thaw()

  expect(status).toBe(202)
  const made = await servers()
  expect(made).toHaveLength(HOSTS)
  for (const { id } of made) await untilStatus(demo, id, 'ACTIVE')
})
