import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { findServer } from '#gateway/db/find-server.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'

type Items = Readonly<Record<string, string>>

let world: BootWorld
let alice: ApiClient
let bob: ApiClient
let admin: ApiClient
let id: string

beforeAll(async () => {
  world = await bootWorld('server_metadata')
  alice = await world.api.user('alice', 'blue', 'member')
  bob = await world.api.user('bob', 'red', 'member')
  admin = await world.api.user('root', 'admin', 'admin')
  id = await activeServer(world, alice)
})
afterAll(() => world?.[Symbol.asyncDispose]())

beforeEach(async () => {
  await replace({ role: 'web', tier: '1' })
})

const merge = (metadata: object, client = alice) =>
  client.call<{ readonly metadata: Items }>('updateServerMetadata', {
    params: { server_id: id },
    body: { metadata },
  })
const replace = (metadata: object, client = alice) =>
  client.call<{ readonly metadata: Items }>('replaceServerMetadata', {
    params: { server_id: id },
    body: { metadata },
  })
const setItem = (key: string, meta: object, client = alice) =>
  client.call<{ readonly meta: Items }>('updateServerMetadataItem', {
    params: { server_id: id, key },
    body: { meta },
  })
const item = (operation: string, key: string, client = alice) =>
  client.call<{ readonly meta: Items }>(operation, { params: { server_id: id, key } })

async function shown(): Promise<Items> {
  const { body } = await alice.call<{ readonly server: { readonly metadata: Items } }>(
    'showServer',
    { params: { server_id: id } },
  )
  return body.server.metadata
}

test('items are added and changed, and the others stay', async () => {
  const { status, body } = await merge({ tier: '2', owner: 'ada' })

  expect(status).toBe(200)
  expect(body.metadata).toEqual({ role: 'web', tier: '2', owner: 'ada' })
  expect(await shown()).toEqual({ role: 'web', tier: '2', owner: 'ada' })
  const list = await alice.call('listServerMetadata', { params: { server_id: id } })
  expect(list.body).toEqual({ metadata: { role: 'web', tier: '2', owner: 'ada' } })
})

test('concurrent requests add all of their items', async () => {
  const items = Array.from({ length: 60 }, (_, nth) => ({ [`key-${nth}`]: 'v' }))

  const answers = await Promise.all(items.map((each) => merge(each)))

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(await shown()).toEqual(Object.assign({ role: 'web', tier: '1' }, ...items))
})

test('all items are replaced, even by an empty set', async () => {
  expect((await replace({ only: 'one' })).body).toEqual({ metadata: { only: 'one' } })
  expect(await shown()).toEqual({ only: 'one' })
  expect((await replace({})).body).toEqual({ metadata: {} })
  expect(await shown()).toEqual({})
})

test('one item is set, shown and deleted under its key', async () => {
  expect((await setItem('tier', { tier: '9' })).body).toEqual({ meta: { tier: '9' } })
  expect((await item('showServerMetadataItem', 'tier')).body).toEqual({ meta: { tier: '9' } })
  expect((await item('deleteServerMetadataItem', 'tier')).status).toBe(204)
  expect(await shown()).toEqual({ role: 'web' })
})

test('a missing item is not found, also if its name is a property of every JavaScript object', async () => {
  for (const key of ['nope', 'toString', '__proto__'])
    for (const operation of ['showServerMetadataItem', 'deleteServerMetadataItem']) {
      const { status, body } = await item(operation, key)
      expect(status).toBe(404)
      expect(body).toMatchObject({ itemNotFound: { message: 'Metadata item was not found' } })
    }
})

test('an item under another key than the one in the path is refused', async () => {
  const { status, body } = await setItem('tier', { role: 'db' })

  expect(status).toBe(400)
  expect(body).toMatchObject({
    badRequest: { message: expect.stringMatching(/^Request body and URI mismatch/) as string },
  })
})

test.each([
  ['a key that is too long', { ['k'.repeat(256)]: 'v' }],
  ['a value that is too long', { k: 'v'.repeat(256) }],
  ['an empty key', { '': 'v' }],
  ['a key with a slash', { 'a/b': 'v' }],
  ['a number', { k: 1 }],
])('%s is refused with 400', async (_what, metadata) => {
  expect((await merge(metadata)).status).toBe(400)
  expect(await shown()).toEqual({ role: 'web', tier: '1' })
})

test('more items than the project may have are refused with 403 and the limit', async () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, nth) => [`k${nth}`, 'v']))
  expect((await replace(many(128))).status).toBe(200)

  for (const answer of [await replace(many(129)), await merge({ one: 'more' })]) {
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({
      forbidden: { message: 'Maximum number of metadata items exceeds 128' },
    })
  }
  expect((await merge({ k0: 'changed' })).status).toBe(200)
})

test("concurrent requests keep each other's items", async () => {
  const keys = Array.from({ length: 8 }, (_, nth) => `key-${nth}`)

  const answers = await Promise.all(keys.map((key) => setItem(key, { [key]: 'v' })))

  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200))
  expect(Object.keys(await shown())).toEqual(expect.arrayContaining(keys))
})

test('values keep every character, and a change moves `updated`', async () => {
  const before = await findServer(world.api.gateway.db, id)
  const metadata = { quote: `"'\\/`, other: 'ü 🙂 \u{1F600}' }

  expect((await replace(metadata)).body).toEqual({ metadata })
  expect((await merge({ more: '%' })).body).toEqual({ metadata: { ...metadata, more: '%' } })
  expect(await shown()).toEqual({ ...metadata, more: '%' })
  const after = await findServer(world.api.gateway.db, id)
  expect(after!.updatedAt.getTime()).toBeGreaterThan(before!.updatedAt.getTime())
})

test('a locked server refuses its users with 409, and obeys administrators', async () => {
  const lock = (isLocked: boolean) => world.api.gateway.db.orm.update(serverIndex).set({ isLocked })
  await lock(true)

  for (const { status, body } of [
    await merge({ k: 'v' }),
    await replace({}),
    await setItem('k', { k: 'v' }),
    await item('deleteServerMetadataItem', 'role'),
  ]) {
    expect(status).toBe(409)
    expect(body).toMatchObject({ conflictingRequest: { message: `Instance ${id} is locked` } })
  }
  expect((await merge({ by: 'root' }, admin)).status).toBe(200)
  await lock(false)
})

test('a server that is being built refuses, in Nova’s words', async () => {
  world.cell.isPrompt = false
  const { body } = await alice.call<{ readonly server: { readonly id: string } }>('createServer', {
    body: world.body({ metadata: { k: 'v' } }),
  })
  const building = { server_id: body.server.id, key: 'k' }

  const put = { params: building, body: { metadata: { k: 'w' } } }
  const changed = await alice.call('updateServerMetadata', put)
  const deleted = await alice.call('deleteServerMetadataItem', { params: building })

  expect(changed.status).toBe(409)
  expect(changed.body).toMatchObject({
    conflictingRequest: {
      message: `Cannot 'update metadata' instance ${building.server_id} while it is in vm_state building`,
    },
  })
  expect(deleted.status).toBe(409)
  const item = await alice.call('showServerMetadataItem', { params: building })
  expect(item.body).toEqual({ meta: { k: 'v' } })
  world.cell.isPrompt = true
})

test('another project’s metadata is not found and stays as it is', async () => {
  const answers = [
    await bob.call('listServerMetadata', { params: { server_id: id } }),
    await merge({ k: 'v' }, bob),
    await replace({}, bob),
    await setItem('k', { k: 'v' }, bob),
    await item('showServerMetadataItem', 'role', bob),
    await item('deleteServerMetadataItem', 'role', bob),
    await alice.call('listServerMetadata', { params: { server_id: newId<string>() } }),
  ]

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  expect(await shown()).toEqual({ role: 'web', tier: '1' })
})
