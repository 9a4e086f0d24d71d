import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Notification } from '#gateway/app/notifications/notification.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  attachAndDetach,
  changeResources,
  OF_ATTACHMENTS,
  OF_RESOURCES,
} from '#test/env/api/resource-changes.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { makeStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { JetStreamServer } from '#test/env/jetstream.ts'
import { storesReported } from '#test/env/stores-reported.ts'

const STREAM = 'notifications'
const LIMIT_MS = 30_000
const UPDATE = 'instance.update'

interface Kept {
  readonly subject: string
  readonly body: Notification
}

let stream: JetStreamServer
let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  stream = await JetStreamServer.start()
  cloud = await startCloud({
    gateways: 2,
    cells: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
    driver: { vcpus: '8', memory_mb: '8192' },
    outside: ['gateway'],
    gateway: { GATEWAY_NOTIFICATIONS_URL: stream.url },
  })
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  await stream?.[Symbol.asyncDispose]()
})

const dataOf = ({ body }: Kept) => body.payload['nova_object.data']

async function keptAbout(id: string): Promise<readonly Kept[]> {
  const all = await stream.messages<Notification>(STREAM)
  return all.filter((each) => [dataOf(each)['uuid'], dataOf(each)['instance_uuid']].includes(id))
}

/** The notifications about a server, without updates, once one of this type has come. */
async function untilNotified(id: string, type: string): Promise<readonly Kept[]> {
  const found = await waitFor(
    `${type} of ${id}`,
    async () => {
      const kept = await keptAbout(id)
      return kept.some(({ body }) => body.event_type === type) ? kept : undefined
    },
    LIMIT_MS,
  )
  return found.filter(({ body }) => body.event_type !== UPDATE)
}

const types = (kept: readonly Kept[]) => kept.map(({ body }) => body.event_type)

test('the life of a server is notified in the order of Nova, under the subjects of its cell', async () => {
  const { id } = await activeServer(cloud, demo, { metadata: { role: 'web' } })
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  await act(demo, id, { 'os-start': null })
  await untilStatus(demo, id, 'ACTIVE')
  await act(demo, id, { lock: null })
  await act(demo, id, { unlock: null })
  await deleteServer(demo, id)

  const kept = await untilNotified(id, 'instance.delete.end')

  expect(types(kept)).toEqual([
    'instance.create.start',
    'instance.create.end',
    'instance.power_off.start',
    'instance.power_off.end',
    'instance.power_on.start',
    'instance.power_on.end',
    'instance.lock',
    'instance.unlock',
    'instance.delete.start',
    'instance.delete.end',
  ])
  const cell = cloud.cells[0]!.name
  expect(kept[1]!.subject).toBe(`notifications.${cell}.instance.create.end`)
  expect(new Set(kept.map(({ body }) => body.message_id)).size).toBe(kept.length)
})

test('a payload says what the server is, on which host, and who asked for it', async () => {
  const { id } = await activeServer(cloud, demo, { metadata: { role: 'web' } })

  const [start, end] = await untilNotified(id, 'instance.create.end')

  const { user, project } = cloud.foundation.accounts.demo
  const { name: host } = cloud.hosts[0]!
  expect(start!.body.publisher_id).toMatch(/^nova-api:/)
  expect(dataOf(start!)).toMatchObject({ state: 'building', host: null, launched_at: null })
  expect(end!.body).toMatchObject({ priority: 'INFO', publisher_id: `nova-compute:${host}` })
  expect(end!.body.timestamp).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
  expect(end!.body.payload).toMatchObject({
    'nova_object.name': 'InstanceCreatePayload',
    'nova_object.namespace': 'nova',
  })
  expect(dataOf(end!)).toMatchObject({
    uuid: id,
    display_name: 'small',
    state: 'active',
    power_state: 'running',
    host,
    metadata: { role: 'web' },
    request_id: dataOf(start!)['request_id'],
    action_initiator_user: dataOf(start!)['user_id'],
    ip_addresses: [{ 'nova_object.data': { label: expect.any(String), version: 4 } }],
    fault: null,
  })
  expect([user, project].every((text) => text !== '')).toBe(true)
  await deleteServer(demo, id)
})

test('changes of state say what was before', async () => {
  const { id } = await activeServer(cloud, demo)
  await act(demo, id, { pause: null })
  await untilStatus(demo, id, 'PAUSED')
  await untilNotified(id, 'instance.pause.end')

  const updates = (await keptAbout(id)).filter(({ body }) => body.event_type === UPDATE)

  const changes = updates.map((each) => dataOf(each)['state_update'])
  // A cell reports the last of several states that follow each other at once.
  expect(changes.at(-1)).toMatchObject({
    'nova_object.data': { old_state: 'active', state: 'paused', new_task_state: null },
  })
  await deleteServer(demo, id)
})

test('a build without a host is an error of the task, with its reason', async () => {
  const id = await createServer(cloud, demo, { flavorRef: await tooLarge() })
  const kept = await untilNotified(id, 'compute_task.build_instances.error')

  const error = kept.at(-1)!
  expect(error.body).toMatchObject({ priority: 'ERROR' })
  expect(JSON.stringify(dataOf(error)['reason'])).toContain('exception_message')
  await deleteServer(demo, id)
})

/** A flavor that no host has room for. */
async function tooLarge(): Promise<string> {
  const flavor = { name: 'large', vcpus: 20, ram: 51_200, disk: 1 }
  const { body } = await cloud
    .as('admin')
    .post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
  return body.flavor.id
}

test('what servers are made with is notified in the order of its changes, with what it was then', async () => {
  await changeResources(cloud)

  for (const [kind, expected] of Object.entries(OF_RESOURCES)) {
    const about = async () => {
      const all = await stream.messages<Notification>(STREAM)
      return all.filter(({ body }) => {
        // Other tests make flavors, too.
        const isOther = kind === 'flavor' && body.payload['nova_object.data']['name'] === 'large'
        return body.event_type.startsWith(`${kind}.`) && !isOther
      })
    }
    await expect
      .poll(async () => types(await about()), { timeout: LIMIT_MS })
      .toEqual(kind === 'flavor' ? expect.arrayContaining([...expected]) : expected)
    const kept = await about()
    expect(new Set(kept.map(({ body }) => body.message_id)).size).toBe(kept.length)
    expect(kept[0]!.subject).toBe(`notifications.-.${expected[0]}`)
    expect(kept[0]!.body.publisher_id).toMatch(/^nova-api:/)
  }
  const [made] = (await stream.messages<Notification>(STREAM)).filter(
    ({ body }) => body.event_type === 'aggregate.add_host.end',
  )
  expect(dataOf(made!)).toMatchObject({
    name: 'rack-1',
    hosts: [cloud.hosts[0]!.name],
    metadata: { ssd: 'true' },
  })
  const [deleted] = (await stream.messages<Notification>(STREAM)).filter(
    ({ body }) => body.event_type === 'flavor.delete',
  )
  expect(dataOf(deleted!)).toMatchObject({
    flavorid: 'notified',
    description: 'for tests',
    is_public: false,
    projects: [],
  })
})

test('a volume and an interface that come and go are notified with the server', async () => {
  await storesReported(cloud)
  const { id } = await activeServer(cloud, demo)
  const volume = await makeStored(demo, 'volume', { size: 1 })
  await attachAndDetach(cloud, id, volume)

  const kept = await untilNotified(id, 'instance.interface_detach.end')

  const attached = kept.filter(({ body }) => /volume_|interface_/.test(body.event_type))
  expect(types(attached)).toEqual(OF_ATTACHMENTS)
  expect(attached.slice(0, 4).map((each) => dataOf(each)['volume_id'])).toEqual(
    Array.from({ length: 4 }, () => volume),
  )
  await deleteServer(demo, id)
})

test('an image that is made of a server is notified with its id', async () => {
  const { id } = await activeServer(cloud, demo)
  const path = `/compute/v2.1/servers/${id}/action`
  const action = { createImage: { name: 'notified' } }
  const { body } = await demo.post<{ image_id: string }>(path, action, { version: '2.45' })

  const kept = await untilNotified(id, 'instance.snapshot.end')

  const saved = kept.filter(({ body }) => body.event_type.startsWith('instance.snapshot'))
  expect(types(saved)).toEqual(['instance.snapshot.start', 'instance.snapshot.end'])
  expect(saved.map((each) => dataOf(each)['snapshot_image_id'])).toEqual([
    body.image_id,
    body.image_id,
  ])
  await deleteServer(demo, id)
})

test('a host that is cordoned is notified as its service', async () => {
  const admin = cloud.as('admin')
  const { name: host } = cloud.hosts[0]!
  const services = await admin.get<{ services: readonly { id: string; binary: string }[] }>(
    `/compute/v2.1/os-services?host=${host}`,
    { version: '2.53' },
  )
  const { id } = services.body.services.find(({ binary }) => binary === 'nova-compute')!
  const set = (body: object) =>
    admin.put(`/compute/v2.1/os-services/${id}`, body, { version: '2.53' })

  await set({ status: 'disabled', disabled_reason: 'a new disk' })

  const updates = async () =>
    (await stream.messages<Notification>(STREAM))
      .filter(({ body }) => body.event_type === 'service.update')
      .map((each) => dataOf(each))
  await expect
    .poll(updates, { timeout: LIMIT_MS })
    .toContainEqual(
      expect.objectContaining({ host, disabled: true, disabled_reason: 'a new disk' }),
    )
  await set({ status: 'enabled' })
})

test('what happens while the stream cannot be reached is notified later, and nothing is left out', async () => {
  await stream.stop()
  const { id } = await activeServer(cloud, demo)
  const waiting = async () => {
    const { body } = await cloud
      .as('admin')
      .get<{ checks: readonly { name: string; reason: string }[] }>('/federation/v1/health')
    return body.checks.find(({ name }) => name === 'notifications')?.reason
  }
  await expect.poll(waiting).toMatch(/^[1-9]\d* events not notified$/)
  await stream.start()

  expect(types(await untilNotified(id, 'instance.create.end'))).toEqual([
    'instance.create.start',
    'instance.create.end',
  ])
  await deleteServer(demo, id)
})

test('another gateway goes on where one was killed, in the order of each server', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, () => createServer(cloud, demo)))
  await cloud.gateways[0]!.kill()
  cloud.forget(0)
  for (const id of ids) await untilStatus(demo, id, 'ACTIVE')

  for (const id of ids) {
    const seen = types(await untilNotified(id, 'instance.create.end'))
    expect([...new Set(seen)]).toEqual(['instance.create.start', 'instance.create.end'])
  }
  await cloud.gateways[0]!.start()
  cloud.remember(0)
})
