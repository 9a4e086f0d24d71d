import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { SERVERS, type Server, smallServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: of many servers that are requested at the same time, exactly as many run as cells have room for.

const BOOTS = isFullRun ? 200 : 80
const MEMORY_MB = 128
/** Servers that each host has room for. */
const ROOM = { 'north-1': 20, 'north-2': 10, 'south-1': 12, 'south-2': 6 } as const
const HOSTS = Object.keys(ROOM).length
const ROOM_IN_ALL = Object.values<number>(ROOM).reduce((sum, each) => sum + each)
const ENDED_LIMIT_MS = 60_000

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    cells: 2,
    hostsPerCell: HOSTS / 2,
    driverOf: Object.fromEntries(
      Object.entries(ROOM).map(([host, servers]) => [
        host,
        { memory_mb: String(servers * MEMORY_MB) },
      ]),
    ),
    cell: { CELL_RAM_ALLOCATION_RATIO: '1' },
    unwired: ['gateway', 'host'],
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const unlimited = { instances: -1, cores: -1, ram: -1, server_group_members: -1 }
  await admin.put(`/compute/v2.1/os-quota-sets/${await cloud.projectId('demo')}`, {
    quota_set: unlimited,
  })
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  await Promise.all(body.servers.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  await waitFor(
    'all servers to be gone',
    async () => (await servers()).length === 0 || undefined,
    ENDED_LIMIT_MS,
  )
  await expectInvariants(cloud)
})

async function servers(): Promise<readonly Server[]> {
  const { body } = await admin.get<{ servers: readonly Server[] }>(
    `${SERVERS}/detail?all_tenants=1`,
  )
  return body.servers
}

/** Asks for them at the same time. A gateway that is too busy refuses a request, of which nothing is left: it is repeated. */
async function bootAll(body: object): Promise<void> {
  const boot = () =>
    waitFor(
      'a boot to be answered',
      async () => {
        const { status } = await demo.post(SERVERS, body, { version: '2.37' })
        return status === 429 || status === 503 ? undefined : status
      },
      ENDED_LIMIT_MS,
    )
  const statuses = await Promise.all(Array.from({ length: BOOTS }, boot))
  expect(new Set(statuses)).toEqual(new Set([202]))
}

/** All servers, once none is being built. */
function whenEnded(): Promise<readonly Server[]> {
  return waitFor(
    'all servers to run or to be in ERROR',
    async () => {
      const all = await servers()
      return all.every(({ status }) => status !== 'BUILD') ? all : undefined
    },
    ENDED_LIMIT_MS,
  )
}

async function expectExactly(active: number, all: readonly Server[]): Promise<void> {
  const running = all.filter(({ status }) => status === 'ACTIVE')
  const refused = all.filter(({ status }) => status === 'ERROR')
  expect({ running: running.length, refused: refused.length }).toEqual({
    running: active,
    refused: BOOTS - active,
  })
  for (const { fault } of refused)
    expect(fault).toMatchObject({ code: 500, message: expect.stringMatching(/^No valid host/) })
  // Those in ERROR count until they are deleted, as in Nova.
  const { body } = await demo.get<{ limits: { absolute: object } }>('/compute/v2.1/limits')
  expect(body.limits.absolute).toMatchObject({
    totalInstancesUsed: BOOTS,
    totalRAMUsed: BOOTS * MEMORY_MB,
  })
  await expectInvariants(cloud)
}

const hostOf = (server: Server) => String(server['OS-EXT-SRV-ATTR:host'])

function countByHost(all: readonly Server[]): Readonly<Record<string, number>> {
  const running = all.filter(({ status }) => status === 'ACTIVE')
  return Object.fromEntries(
    [...Map.groupBy(running, hostOf)].map(([host, on]) => [host, on.length]),
  )
}

interface Summary {
  readonly servers: number
  readonly used: { readonly memory_mb: number }
  readonly largest: { readonly memory_mb: number }
}

/** What the next heartbeats of the cells say: how many servers they have, and room for how many on one host. */
function expectSummaries(
  wanted: Readonly<Record<string, { readonly servers: number; readonly room: number }>>,
): Promise<void> {
  return expect
    .poll(async () => {
      const { body } = await admin.get<{
        cells: readonly { readonly name: string; readonly summary: Summary }[]
      }>('/federation/v1/cells')
      return Object.fromEntries(
        body.cells.map(({ name, summary: { servers: count, used, largest } }) => [
          name,
          {
            ...{ servers: count, usedBy: used.memory_mb / MEMORY_MB },
            room: largest.memory_mb / MEMORY_MB,
          },
        ]),
      )
    })
    .toEqual(
      Object.fromEntries(
        Object.entries(wanted).map(([name, each]) => [name, { ...each, usedBy: each.servers }]),
      ),
    )
}

test(`${BOOTS} servers requested at once fill every host to its last place, and the others say that there is none`, async () => {
  await bootAll(smallServer(cloud, { networks: 'none' }))

  const all = await whenEnded()

  await expectExactly(ROOM_IN_ALL, all)
  expect(countByHost(all)).toEqual(ROOM)
  await expectSummaries({ north: { servers: 30, room: 0 }, south: { servers: 18, room: 0 } })
})

test(`${BOOTS} members of an anti-affinity group requested at once are one on each host of all cells`, async () => {
  const server_group = { name: 'apart', policies: ['anti-affinity'] }
  const made = await demo.post<{ server_group: { id: string } }>('/compute/v2.1/os-server-groups', {
    server_group,
  })
  const body = {
    ...smallServer(cloud, { networks: 'none' }),
    'os:scheduler_hints': { group: made.body.server_group.id },
  }

  await bootAll(body)

  const all = await whenEnded()

  await expectExactly(HOSTS, all)
  expect(countByHost(all)).toEqual(Object.fromEntries(Object.keys(ROOM).map((host) => [host, 1])))
  const shown = await demo.get<{ server_group: { members: readonly string[] } }>(
    `/compute/v2.1/os-server-groups/${made.body.server_group.id}`,
  )
  expect(shown.body.server_group.members).toHaveLength(BOOTS)
  await expectSummaries({ north: { servers: 2, room: 19 }, south: { servers: 2, room: 11 } })
})
