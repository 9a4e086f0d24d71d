import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { guestRestarts } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  deleteServer,
  SERVERS,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

const POLICIES = '/federation/v1/placement-policies'
const LIMIT_MS = 60_000

interface Event {
  readonly type: string
  readonly action: string | null
  readonly state: string | null
  readonly message: string | null
}

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterEach(async () => {
  const { body } = await admin.get<{ placement_policies: readonly { name: string }[] }>(POLICIES)
  for (const { name } of body.placement_policies) await admin.delete(`${POLICIES}/${name}`)
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud[Symbol.asyncDispose]()
})

async function restartsBy(policy: string): Promise<void> {
  const body = { name: policy, is_default: true, on_guest_failure: 'restart' }
  const { status } = await admin.post(POLICIES, body)
  expect(status).toBe(201)
}

async function restartsOf(id: string): Promise<readonly Event[]> {
  const { body } = await admin.get<{ events: readonly Event[] }>(
    `/federation/v1/events?server=${id}`,
  )
  return body.events.filter(({ action }) => action === 'restart guest')
}

/** Resolves once a gateway has decided that the server stays off. */
async function untilDecided(id: string): Promise<void> {
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  const decided = async () => {
    const rows = await db.orm.select().from(guestRestarts).where(eq(guestRestarts.serverId, id))
    return rows.length === 1 && rows[0]!.dueAt === null
  }
  await waitFor(`the decision about ${id}`, decided, LIMIT_MS)
}

const untilRestarts = (id: string, count: number) =>
  waitFor(
    `${count} restarts of ${id}`,
    async () => {
      const events = await restartsOf(id)
      return events.length >= count ? events : undefined
    },
    LIMIT_MS,
  )

test('a server whose guest crashes is started again where its policy says so, with an event', async () => {
  await restartsBy('always-on')
  const { id } = await activeServer(cloud, demo)

  cloud.hosts[0]!.crash(id)

  const [event] = await untilRestarts(id, 1)
  expect(event).toMatchObject({
    type: 'operation.state',
    state: 'running',
    message: expect.stringContaining('placement policy always-on'),
  })
  await untilStatus(demo, id, 'ACTIVE')
  const { body } = await demo.get<{ instanceActions: readonly { action: string }[] }>(
    `/compute/v2.1/servers/${id}/os-instance-actions`,
  )
  expect(body.instanceActions.map(({ action }) => action)).toEqual(['start', 'stop', 'create'])
  const { out } = await new WeirCommand(cloud, 'admin').run(`why ${id}`)
  expect(out).toMatch(
    / restart guest +running +.*started again, as placement policy always-on says/,
  )
  await deleteServer(demo, id)
})

test('one that crashes again at once waits before it is started a second time', async () => {
  await restartsBy('always-on')
  const { id } = await activeServer(cloud, demo)
  cloud.hosts[0]!.crash(id)
  await untilRestarts(id, 1)
  await untilStatus(demo, id, 'ACTIVE')

  cloud.hosts[0]!.crash(id)
  await untilStatus(demo, id, 'SHUTOFF')
  const events = await untilRestarts(id, 2)

  expect(events.at(-1)!.message).toContain('2 times in a row')
  await untilStatus(demo, id, 'ACTIVE')
  await deleteServer(demo, id)
})

test('the policy of its hint decides, else that of its project, else that of its flavor', async () => {
  for (const policy of [
    { name: 'left-off', is_selectable: true, on_guest_failure: 'none' },
    { name: 'of-project', projects: ['demo'], on_guest_failure: 'restart' },
    { name: 'of-flavor', flavors: ['m1.small'], on_guest_failure: 'restart' },
    { name: 'of-tiny', flavors: ['m1.tiny'], on_guest_failure: 'none' },
  ])
    expect((await admin.post(POLICIES, policy)).status).toBe(201)
  const ofProject = await activeServer(cloud, demo)
  const hint = { ...smallServer(cloud), 'os:scheduler_hints': { policy: 'left-off' } }
  const { body } = await demo.post<{ server: { id: string } }>(SERVERS, hint)
  const byHint = await untilStatus(demo, body.server.id, 'ACTIVE')
  const ofTiny = await activeServer(cloud, admin)
  const ofFlavor = await activeServer(cloud, admin, { flavorRef: cloud.catalog.small })
  const all = [ofProject, byHint, ofTiny, ofFlavor]

  for (const { id } of all) cloud.hosts[0]!.crash(id)

  for (const [{ id }, policy] of [
    [ofProject, 'of-project'],
    [ofFlavor, 'of-flavor'],
  ] as const) {
    const [event] = await untilRestarts(id, 1)
    expect(event!.message).toContain(`as placement policy ${policy} says`)
    await untilStatus(admin, id, 'ACTIVE')
  }
  for (const { id } of [byHint, ofTiny]) {
    await untilDecided(id)
    await untilStatus(admin, id, 'SHUTOFF')
    expect(await restartsOf(id)).toEqual([])
  }
  for (const { id } of all) await deleteServer(admin, id)
})

test('without such a policy it stays off, also once there is one', async () => {
  const { id } = await activeServer(cloud, demo)
  cloud.hosts[0]!.crash(id)
  await untilStatus(demo, id, 'SHUTOFF')
  await untilDecided(id)
  const other = await activeServer(cloud, demo)
  await restartsBy('late')
  cloud.hosts[0]!.crash(other.id)

  await untilRestarts(other.id, 1)
  await untilStatus(demo, other.id, 'ACTIVE')

  await untilStatus(demo, id, 'SHUTOFF')
  expect(await restartsOf(id)).toEqual([])
  for (const each of [id, other.id]) await deleteServer(demo, each)
})

test('a server that its owner stops stays off', async () => {
  await restartsBy('always-on')
  const { id } = await activeServer(cloud, demo)
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  cloud.hosts[0]!.crash(id)
  const other = await activeServer(cloud, demo)
  cloud.hosts[0]!.crash(other.id)

  await untilRestarts(other.id, 1)

  await untilStatus(demo, id, 'SHUTOFF')
  expect(await restartsOf(id)).toEqual([])
  for (const each of [id, other.id]) await deleteServer(demo, each)
})
