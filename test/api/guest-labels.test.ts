import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { sampleHost } from '../env/sample-host.ts'

// Goal: a host with a metadata service receives the metadata of its guests, and a password that a guest publishes reaches its owner.

let world: BootWorld
let user: ApiClient
let serverId: string
const applied: ServerLabels[] = []

beforeAll(async () => {
  world = await bootWorld('guest_labels')
  user = await world.api.user('alice', 'owners', 'member')
  const { cell, api } = world
  cell.overrides['host.label'] = ({ servers }) => {
    applied.push(...servers)
    return { applied: servers.map((server) => server.serverId) }
  }
  const host = { ...sampleHost('north-1'), capabilities: ['guestMetadata'] }
  await api.gateway.db.transaction((tx) => applyHostViews(tx, cell.id, [host]))
  serverId = await activeServer(world, user)
  const { hostId, host: name } = cell.views.get(serverId)!
  const its = { ...host, hostId: hostId!, name: name! }
  await api.gateway.db.transaction((tx) => applyHostViews(tx, cell.id, [its]))
})
afterAll(() => world?.[Symbol.asyncDispose]())

const params = () => ({ params: { server_id: serverId } })

async function password(): Promise<string> {
  return (await user.call<{ password: string }>('showServerPassword', params())).body.password
}

function publish(text: string, clears: number, attempt = 1, server = serverId): void {
  const body = { serverId: server, attempt, password: text, clears }
  world.cell.emit([{ kind: 'guest-password', ...body }])
}

test('a host is told the groups of its guests, and what their owners change', async () => {
  await expect
    .poll(() => applied.at(-1))
    .toMatchObject({
      serverId,
      guest: { securityGroups: ['default'], publicIpv4: null, passwordClears: 0 },
    })

  const body = { metadata: { role: 'front' } }
  await user.call('updateServerMetadata', { ...params(), body })

  await expect.poll(() => applied.at(-1)).toMatchObject({ serverId, metadata: { role: 'front' } })
})

test('a published password is shown until it is cleared, and an earlier one never comes back', async () => {
  expect(await password()).toBe('')
  publish('of another attempt', 0, 2)
  publish('of no server', 0, 1, newId())
  publish('encrypted', 0)
  await expect.poll(password).toBe('encrypted')

  expect((await user.call('clearServerPassword', params())).status).toBe(204)
  expect(await password()).toBe('')
  await expect.poll(() => applied.at(-1)).toMatchObject({ guest: { passwordClears: 1 } })

  publish('encrypted', 0)
  publish('second', 1)
  await expect.poll(password).toBe('second')
})

test('a password is that of its project alone', async () => {
  const other = await world.api.user('bob', 'others', 'member')

  expect((await other.call('showServerPassword', params())).status).toBe(404)
  expect((await other.call('clearServerPassword', params())).status).toBe(404)
  expect(await password()).toBe('second')
})
