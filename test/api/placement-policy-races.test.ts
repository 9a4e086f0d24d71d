import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  createServer,
  SERVERS,
  type Server,
  showServer,
  smallServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: what a placement policy requires of all servers of a project holds when two gateways place them at the same moment.

const POLICIES = '/federation/v1/placement-policies'
const GATEWAYS = [0, 1]
const AT_ONCE = 8

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    gateways: 2,
    cells: 2,
    hostsPerCell: 1,
    processesPerCell: 1,
    gateway: { GATEWAY_SCHEDULING_POLICY: 'simple' },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  await Promise.all(body.servers.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  for (const { id } of body.servers) await untilGone(demo, id)
  await expectInvariants(cloud)
})

/** Afterwards both gateways apply a default policy with these rules, and no other. */
async function applyPolicy(name: string, rules: object): Promise<void> {
  const present = await admin.get<{ placement_policies: readonly { id: string }[] }>(POLICIES)
  for (const { id } of present.body.placement_policies) await admin.delete(`${POLICIES}/${id}`)
  expect((await admin.post(POLICIES, { name, is_default: true, ...rules })).status).toBe(201)
  const known = async (gateway: number) => {
    const asked = { flavor: 'm1.tiny', image: 'tiny' }
    const { body } = await admin.post<{ decisions: readonly Loose[] }>(
      '/federation/v1/placements',
      asked,
      { gateway },
    )
    return body.decisions[0]?.['policy']
  }
  for (const gateway of GATEWAYS)
    await expect.poll(() => known(gateway)).toEqual({ name, bound_by: 'default' })
}

/** The cells of servers that are asked for at the same moment, sorted; `ERROR` for one that is in none. */
async function bootAtOnce(count: number): Promise<readonly string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => createServer(cloud, demo)))
  return (await Promise.all(ids.map(placeOf))).toSorted()
}

async function placeOf(id: string): Promise<string> {
  await untilStatus(demo, id, 'ACTIVE').catch(() => undefined)
  const { status, ...server } = await showServer(demo, id)
  return status === 'ACTIVE' ? String(server['OS-EXT-AZ:availability_zone']) : String(status)
}

const evenly = (each: number) => [
  ...Array.from({ length: each }, () => 'north'),
  ...Array.from({ length: each }, () => 'south'),
]

test('servers that two gateways place at once are spread as evenly as is required', async () => {
  await applyPolicy('even', { spread: { over: 'cell', max_skew: 1, is_required: true } })

  expect(await bootAtOnce(AT_ONCE)).toEqual(evenly(AT_ONCE / 2))
})

test('a gateway ranks cells by the scheduling policy of its settings', async () => {
  const asked = { flavor: 'm1.tiny', image: 'tiny' }
  const { body } = await admin.post<{
    decisions: readonly { scores: readonly { parts: object }[] }[]
  }>('/federation/v1/placements', asked)

  const parts = body.decisions[0]!.scores.map((score) => Object.keys(score.parts))
  expect(parts).toEqual([
    ['load', 'chance'],
    ['load', 'chance'],
  ])
})

test('the servers of one request are spread among each other', async () => {
  await applyPolicy('even', { spread: { over: 'cell', max_skew: 1, is_required: true } })
  const body = { ...smallServer(cloud, { min_count: 4, max_count: 4 }) }

  expect((await demo.post(SERVERS, body)).status).toBe(202)
  const { body: listed } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  expect((await Promise.all(listed.servers.map(({ id }) => placeOf(id)))).toSorted()).toEqual(
    evenly(2),
  )
})

test('no project has more in a cell than its limit, and what is resized or leaves counts at once', async () => {
  await applyPolicy('small', { limits: { servers: 3, vcpus: 4 } })

  const places = await bootAtOnce(AT_ONCE)
  expect(places).toEqual(['ERROR', 'ERROR', ...evenly(3)])

  const { body } = await demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail`)
  const [first, second] = body.servers.filter(({ status }) => status === 'ACTIVE')
  const flavors = await demo.get<{ flavors: readonly { id: string; name: string }[] }>(
    '/compute/v2.1/flavors',
  )
  const flavorRef = flavors.body.flavors.find(({ name }) => name === 'm1.large')?.id
  const resized = await demo.post<Loose>(`${SERVERS}/${second!.id}/action`, {
    resize: { flavorRef },
  })
  expect([resized.status, JSON.stringify(resized.body)]).toEqual([
    403,
    expect.stringContaining('Quota exceeded: in the part of the cloud where this server is'),
  ])
  await demo.delete(`${SERVERS}/${first!.id}`)
  await untilGone(demo, first!.id)
  expect(await bootAtOnce(2)).toEqual(['ERROR', String(first!['OS-EXT-AZ:availability_zone'])])
})
