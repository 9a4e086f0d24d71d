import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  SERVERS,
  type Server,
  showServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Acts that gateways carry out on servers by themselves once a time set by the operator has passed.

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    gateway: {
      GATEWAY_RECLAIM_INTERVAL_S: '3600',
      GATEWAY_RESIZE_CONFIRM_WINDOW_S: '1',
      GATEWAY_SHELVED_OFFLOAD_TIME_S: '1',
    },
  })
  demo = cloud.as('demo')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const used = async () => {
  const { body } = await demo.get<{ limits: { absolute: Readonly<Record<string, number>> } }>(
    '/compute/v2.1/limits',
  )
  return body.limits.absolute['totalInstancesUsed']
}
const listed = async (client: ApiClient, query = '') => {
  const { body } = await client.get<{ servers: readonly Server[] }>(`${SERVERS}${query}`)
  return body.servers.map(({ id }) => id)
}
/** As if the server had been left alone for two hours. */
async function letTimePass(id: string): Promise<void> {
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  await db.orm.execute(
    sql`update instance_mappings set changed_at = changed_at - interval 2 hour where server_id = ${id}`,
  )
}
async function softDeleted(): Promise<string> {
  const { id } = await activeServer(cloud, demo)
  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
  await untilStatus(demo, id, 'SOFT_DELETED')
  return id
}

test('a deleted server is kept: off, hidden from lists, free of charge, and restored as it was', async () => {
  const id = await softDeleted()

  const admin = cloud.as('admin')
  expect(await showServer(admin, id)).toMatchObject({
    'OS-EXT-STS:vm_state': 'soft-delete',
    'OS-EXT-STS:power_state': 4,
  })
  expect(await listed(demo)).not.toContain(id)
  expect(await listed(admin, '?all_tenants=1&deleted=1&status=SOFT_DELETED')).toEqual([id])
  expect(await used()).toBe(0)
  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
  expect((await act(demo, id, { 'os-start': null })).body).toMatchObject({
    conflictingRequest: {
      message: `Cannot 'start' instance ${id} while it is in vm_state soft-delete`,
    },
  })

  expect((await act(demo, id, { restore: null })).status).toBe(202)
  await untilStatus(demo, id, 'ACTIVE')
  expect([await listed(demo), await used()]).toEqual([[id], 1])
  const actions = await demo.get<{ instanceActions: readonly { readonly action: string }[] }>(
    `${SERVERS}/${id}/os-instance-actions`,
  )
  expect(actions.body.instanceActions.map(({ action }) => action)).toEqual([
    'restore',
    'delete',
    'create',
  ])
  expect((await act(demo, id, { restore: null })).status).toBe(409)
  expect((await act(demo, id, { forceDelete: null })).status).toBe(202)
  await untilGone(demo, id)
  await expectInvariants(cloud)
})

test('a server is not restored beyond the quota, and one that cannot start stays deleted', async () => {
  const id = await softDeleted()
  const project = await cloud.projectId('demo')
  const quota = `/compute/v2.1/os-quota-sets/${project}`
  await cloud.as('admin').put(quota, { quota_set: { instances: 0 } })

  const refused = await act(demo, id, { restore: null })
  expect([refused.status, refused.body]).toMatchObject([
    403,
    { forbidden: { message: expect.stringMatching(/^Quota exceeded for instances/) } },
  ])
  await cloud.as('admin').delete(quota)
  const effect = { do: 'fail', kind: 'conflict', message: 'no power' } as const
  for (const host of cloud.hosts) host.fail({ method: 'start', effect })
  expect((await act(demo, id, { restore: null })).status).toBe(202)
  await waitFor('the quota to be given back', async () => (await used()) === 0, 10_000)
  expect((await showServer(demo, id)).status).toBe('SOFT_DELETED')
  for (const host of cloud.hosts) host.fail()

  await letTimePass(id)
  await untilGone(demo, id)
  await expectInvariants(cloud)
})

test('a server is not restored beyond what a policy for the flavor to which it was resized allows', async () => {
  const admin = cloud.as('admin')
  const policies = '/federation/v1/placement-policies'
  const small = { flavorRef: cloud.catalog.small }
  const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
  await act(demo, id, { resize: small })
  await waitFor(
    'the resize to be confirmed',
    async () => {
      const { status, flavor } = await showServer(demo, id, '2.47')
      return status === 'ACTIVE' && (flavor as { readonly ram: number }).ram === 512
    },
    15_000,
  )
  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
  await untilStatus(demo, id, 'SOFT_DELETED')
  const other = await activeServer(cloud, demo, { ...small, availability_zone: 'north' })

  const made = await admin.post<{ id: string }>(policies, {
    ...{ name: 'one-small', flavors: ['m1.small'], limits: { servers: 1 } },
  })
  expect(made.status).toBe(201)
  const asked = { flavor: 'm1.small', image: 'tiny', project: await cloud.projectId('demo') }
  type Decided = { readonly decisions: readonly { readonly policy: unknown }[] }
  for (const gateway of cloud.endpoints.keys())
    await expect
      .poll(async () => {
        const { body } = await admin.post<Decided>('/federation/v1/placements', asked, { gateway })
        return body.decisions[0]?.policy
      })
      .toMatchObject({ name: 'one-small' })

  const refused = await act(demo, id, { restore: null })
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    403,
    expect.stringContaining('the project may have 1 servers'),
  ])

  expect((await admin.delete(`${policies}/${made.body.id}`)).status).toBe(204)
  for (const each of [id, other.id]) await act(demo, each, { forceDelete: null })
  for (const each of [id, other.id]) await untilGone(demo, each)
  await expectInvariants(cloud)
})

test('a server without a guest to restore is deleted at once', async () => {
  const answer = await askForServer(cloud, demo, {}, { version: '2.74' })
  expect((await demo.delete(`${SERVERS}/${answer.body.server.id}`)).status).toBe(204)
  const { id } = await activeServer(cloud, demo)
  await act(demo, id, { shelve: null })
  await untilStatus(demo, id, 'SHELVED_OFFLOADED')
  expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)

  await untilGone(demo, id, 60_000)
  await expectInvariants(cloud)
})

test('a resize that is not confirmed is confirmed when its window has passed', async () => {
  const { id } = await activeServer(cloud, demo)
  expect((await act(demo, id, { resize: { flavorRef: cloud.catalog.small } })).status).toBe(202)

  await waitFor(
    'the resize to be confirmed',
    async () => {
      const { status, flavor } = await showServer(demo, id, '2.47')
      return status === 'ACTIVE' && (flavor as { readonly ram: number }).ram === 512
    },
    15_000,
  )
  const { body } = await cloud
    .as('admin')
    .get<{ migrations: readonly { readonly status: string }[] }>(
      `/compute/v2.1/os-migrations?instance_uuid=${id}`,
    )
  expect(body.migrations.map(({ status }) => status)).toEqual(['confirmed'])
  await act(demo, id, { forceDelete: null })
  await untilGone(demo, id)
})
