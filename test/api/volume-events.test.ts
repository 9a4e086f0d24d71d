import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import { makeStored, removeStored, untilStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WebhookReceiver } from '#test/env/webhook-receiver.ts'

// Goal: what happens to a volume and its snapshots is seen by its project, in order, also once the volume is gone.

const EVENTS = '/federation/v1/events'

interface Event {
  readonly type: string
  readonly state: string
  readonly volume_id: string
  readonly volume_name: string | null
  readonly snapshot_id: string | null
  readonly cell: string | null
  readonly message: string | null
}

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const gateway = { GATEWAY_WEBHOOK_NETWORKS: '127.0.0.0/8' }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, gateway })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

async function eventsOf(volume: string, client = demo, more = ''): Promise<readonly Event[]> {
  const { body } = await client.get<{ events: readonly Event[] }>(
    `${EVENTS}?volume=${volume}${more}`,
  )
  return body.events
}

/** What became of the volume, once the last of it is there. */
function storyOf(volume: string, last: string): Promise<readonly string[]> {
  return waitFor(
    'the last event',
    async () => {
      const story = (await eventsOf(volume)).map(({ type, state }) => `${type} ${state}`)
      return story.at(-1) === last ? story : undefined
    },
    30_000,
  )
}

test('a volume, its snapshot and its attachment tell what happens to them', async () => {
  const id = await makeStored(demo, 'volume', { size: 1, name: 'data' })
  const snapshot = await makeStored(demo, 'snapshot', { volume_id: id })
  const server = await activeServer(cloud, demo, { name: 'holder' })
  const path = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(path, { volumeAttachment: { volumeId: id } })
  await untilStored(demo, 'volume', id, 'in-use')
  await demo.delete(`${path}/${id}`)
  await untilStored(demo, 'volume', id, 'available')
  await removeStored(demo, 'snapshot', snapshot)
  await removeStored(demo, 'volume', id)

  expect(await storyOf(id, 'volume.deleted deleted')).toEqual([
    'volume.state creating',
    'volume.state available',
    'snapshot.state creating',
    'snapshot.state available',
    'volume.state attaching',
    'volume.state in-use',
    'volume.state detaching',
    'volume.state available',
    'snapshot.state deleting',
    'snapshot.deleted deleted',
    'volume.state deleting',
    'volume.deleted deleted',
  ])
  const seen = await eventsOf(id)
  expect(seen.at(-1)).toMatchObject({ volume_id: id, volume_name: 'data', cell: null })
  expect(seen.filter(({ snapshot_id }) => snapshot_id === snapshot)).toHaveLength(4)
  const gone = await eventsOf(id, admin, '&type=volume.deleted')
  expect(gone.map(({ cell }) => cell)).toEqual(['north'])
  expect(await eventsOf(id, cloud.as('stranger'))).toEqual([])
  await deleteServer(demo, server.id)
})

test('a webhook gets the events of volumes that it asks for', async () => {
  await using receiver = await WebhookReceiver.open()
  const webhook = { name: 'storage', url: receiver.url, types: ['volume.state'] }
  const { status } = await demo.post('/federation/v1/webhooks', webhook)
  expect(status).toBe(201)

  const id = await makeStored(demo, 'volume', { size: 1 })

  const seen = () =>
    receiver.received.map(({ event }) => [event.type, event.volume_id, event.state])
  await expect.poll(seen, { timeout: 30_000 }).toEqual([
    ['volume.state', id, 'creating'],
    ['volume.state', id, 'available'],
  ])
  await removeStored(demo, 'volume', id)
})

test('the project that a volume is given to sees it come', async () => {
  const id = await makeStored(demo, 'volume', { size: 1 })
  const stranger = cloud.as('stranger')
  const path = '/volume/v3/volume-transfers'
  const { body } = await demo.post<{ transfer: { id: string; auth_key: string } }>(
    path,
    { transfer: { volume_id: id } },
    { version: '3.55' },
  )
  const { id: offer, auth_key } = body.transfer
  const accept = { accept: { auth_key } }
  const { status } = await stranger.post(`${path}/${offer}/accept`, accept, { version: '3.55' })
  expect(status).toBe(202)

  const states = async () => (await eventsOf(id, stranger)).map(({ state }) => state)
  await expect.poll(states, { timeout: 30_000 }).toEqual(['available'])
  await removeStored(stranger, 'volume', id)
})
