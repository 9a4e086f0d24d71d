import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleServer } from '#test/env/sample-server.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

const DAY_MS = 24 * 3_600_000
/** Midnight in UTC, twelve days ago: servers that were deleted a month ago are forgotten. */
const FIRST = (Math.floor(Date.now() / DAY_MS) - 12) * DAY_MS

/** `03T06`: at six on the third of those days, of which `FIRST` begins the first. */
function at(time: string): Date {
  const [day = '', hour = ''] = time.split('T')
  return new Date(FIRST + (Number(day) - 1) * DAY_MS + Number(hour) * 3_600_000)
}

/** As a query names it. */
const text = (time: string) => at(time).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)

async function ran(owner: ApiClient, name: string, started: string | null, ended: string | null) {
  const server = sampleServer(owner, null, { name, vmState: 'active', taskState: null })
  const { db } = api.gateway
  await db.transaction(async (tx) => queueServers(tx, [{ ...server, addresses: {} }]))
  await db.orm
    .update(serverIndex)
    .set({
      launchedAt: started === null ? null : at(started),
      terminatedAt: ended === null ? null : at(ended),
      deletedAt: ended === null ? null : at(ended),
    })
    .where(eq(serverIndex.serverId, server.id))
}

beforeAll(async () => {
  api = await computeApi('tenant_usage')
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'reader')
  bob = await api.user('bob', 'red', 'member')
  await ran(alice, 'before', '01T00', '02T00')
  await ran(alice, 'whole', '01T00', null)
  await ran(alice, 'ended', '10T00', '10T06')
  await ran(alice, 'never', null, null)
  await ran(bob, 'theirs', '10T12', null)
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface Usage {
  readonly tenant_id: string
  readonly total_hours: number
  readonly total_memory_mb_usage: number
  readonly server_usages?: readonly Readonly<Record<string, unknown>>[]
}
interface Shown {
  readonly tenant_usage: Partial<Usage>
  readonly tenant_usage_links?: readonly [{ readonly href: string }]
}

const DAY = `start=${text('10T00')}&end=${text('11T00')}`
const show = (client: ApiClient, query = DAY, of = client, version: Microversion = '2.1') =>
  client.call<Shown>('showTenantUsage', {
    params: { project_id: of.projectId! },
    query: `?${query}`,
    version,
  })
const list = (query: string, client = admin) =>
  client.call<{ tenant_usages: readonly Usage[] }>('listTenantUsage', { query: `?${query}` })

test('a project sees the usage of its servers in a period, deleted ones included', async () => {
  const { tenant_usage: usage } = (await show(alice)).body
  expect(usage).toMatchObject({
    tenant_id: alice.projectId,
    start: `${text('10T00')}.000000`,
    stop: `${text('11T00')}.000000`,
    total_hours: 30,
    total_vcpus_usage: 30,
    total_memory_mb_usage: 30 * 128,
    total_local_gb_usage: 30,
  })
  const byName = new Map(usage.server_usages!.map((each) => [each['name'], each]))
  expect(new Set(byName.keys())).toEqual(new Set(['ended', 'whole']))
  expect(byName.get('whole')).toMatchObject({ hours: 24, state: 'active', ended_at: null })
  expect(byName.get('ended')).toMatchObject({ hours: 6, state: 'terminated', uptime: 6 * 3_600 })

  const early = await show(alice, 'start=2020-09-01T00:00:00&end=2020-09-02T00:00:00')
  expect(early.body.tenant_usage).toEqual({})
})

test('administrators see all projects, with the servers if they ask', async () => {
  const { tenant_usages: usages } = (await list(DAY)).body
  const hours = usages.map(({ tenant_id, total_hours }) => [tenant_id, total_hours] as const)
  expect(new Map(hours)).toEqual(
    new Map([
      [alice.projectId, 30],
      [bob.projectId, 12],
    ]),
  )
  expect(usages[0]).not.toHaveProperty('server_usages')
  expect((await list(`${DAY}&detailed=1`)).body.tenant_usages[0]).toHaveProperty('server_usages')
  expect((await list(DAY, bob)).status).toBe(403)
  expect((await show(bob, DAY, alice)).status).toBe(403)
  expect((await show(admin, DAY, alice)).body.tenant_usage.total_hours).toBe(30)
})

test('usage is paged by server from 2.40 on', async () => {
  const first = (await show(alice, `${DAY}&limit=1`, alice, '2.40')).body
  const next = new URL(first.tenant_usage_links![0].href).search.slice(1)
  const second = (await show(alice, next, alice, '2.40')).body
  expect([first, second].map(({ tenant_usage }) => tenant_usage.server_usages!.length)).toEqual([
    1, 1,
  ])
  expect(first.tenant_usage.total_hours! + second.tenant_usage.total_hours!).toBe(30)
  expect((await show(alice, `${DAY}&limit=1`)).body.tenant_usage.total_hours).toBe(30)
  expect((await show(alice, `${DAY}&marker=x`, alice, '2.40')).status).toBe(400)
})

test('a period that cannot be read is refused', async () => {
  expect((await list('start=yesterday')).status).toBe(400)
  expect((await list('start=2026-10-12T00:00:00&end=2026-10-11T00:00:00')).status).toBe(400)
})

test('no host has audited anything', async () => {
  const { body } = await admin.call('listUsageAudits')
  expect(body['instance_usage_audit_logs']).toMatchObject({ num_hosts: 0, log: {} })
  const params = { before: '2026-03-15 10:00:00' }
  const { body: shown } = await admin.call('showUsageAudit', { params })
  expect(shown['instance_usage_audit_log']).toMatchObject({
    period_beginning: '2026-02-01 00:00:00',
    period_ending: '2026-03-01 00:00:00',
    overall_status: 'ALL hosts done. 0 errors.',
  })
  const odd = { before: 'lately' }
  expect((await admin.call('showUsageAudit', { params: odd })).status).toBe(400)
  expect((await alice.call('listUsageAudits')).status).toBe(403)
})
