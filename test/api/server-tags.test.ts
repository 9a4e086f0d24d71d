import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findServer } from '#gateway/db/find-server.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'

let world: BootWorld
let alice: ApiClient
let bob: ApiClient
let id: string

beforeAll(async () => {
  world = await bootWorld('server_tags')
  alice = await world.api.user('alice', 'blue', 'member')
  bob = await world.api.user('bob', 'red', 'member')
  id = await activeServer(world, alice)
})
afterAll(() => world?.[Symbol.asyncDispose]())

beforeEach(async () => {
  await replace(['one', 'two'])
})

const version: Microversion = '2.26'
const all = (operation: string, body?: object, client = alice) =>
  client.call<{ readonly tags: readonly string[] }>(operation, {
    params: { server_id: id },
    version,
    ...(body !== undefined && { body }),
  })
const replace = (tags: readonly string[], client = alice) =>
  all('replaceServerTags', { tags }, client)
const one = (operation: string, tag: string, client = alice) =>
  client.call(operation, { params: { server_id: id, tag }, version })

async function shown(): Promise<readonly string[]> {
  const { body } = await alice.call<{ readonly server: { readonly tags: readonly string[] } }>(
    'showServer',
    { params: { server_id: id }, version },
  )
  return body.server.tags
}

test('all tags are replaced, each once, and shown with the server', async () => {
  const { status, body } = await replace(['b', 'a', 'b'])

  expect(status).toBe(200)
  expect(body).toEqual({ tags: ['b', 'a'] })
  expect((await all('listServerTags')).body).toEqual({ tags: ['b', 'a'] })
  expect(await shown()).toEqual(['b', 'a'])
})

test('one tag is added with 201 and its place, and again with 204', async () => {
  const added = await one('addServerTag', 'three & 4')

  expect(added.status).toBe(201)
  expect(added.headers.get('location')).toBe(
    `http://gw.example/compute/v2.1/servers/${id}/tags/three%20%26%204`,
  )
  expect((await one('addServerTag', 'three & 4')).status).toBe(204)
  expect(await shown()).toEqual(['one', 'two', 'three & 4'])
})

test('a tag exists or is not found', async () => {
  expect((await one('checkServerTag', 'one')).status).toBe(204)
  const { status, body } = await one('checkServerTag', 'nope')
  expect(status).toBe(404)
  expect(body).toMatchObject({ itemNotFound: { message: `Server ${id} has no tag 'nope'` } })
})

test('one tag is removed, and then all', async () => {
  expect((await one('deleteServerTag', 'one')).status).toBe(204)
  expect(await shown()).toEqual(['two'])
  expect((await one('deleteServerTag', 'one')).status).toBe(404)
  expect((await all('deleteServerTags')).status).toBe(204)
  expect((await all('deleteServerTags')).status).toBe(204)
  expect(await shown()).toEqual([])
})

test('servers are found by their tags', async () => {
  await replace(['green', 'm"ü'])
  const found = async (query: string) => {
    const { body } = await alice.call<{ readonly servers: readonly object[] }>('listServers', {
      query,
      version,
    })
    return body.servers.length
  }

  expect(await found('?tags=green')).toBe(1)
  expect(await found('?tags=green,blue')).toBe(0)
  expect(await found(`?tags-any=${encodeURIComponent('m"ü')}`)).toBe(1)
  expect(await found('?not-tags=green')).toBe(0)
})

test('a 51st tag is refused, however it comes', async () => {
  const tags = Array.from({ length: 50 }, (_, nth) => `tag-${nth}`)
  expect((await replace(tags)).status).toBe(200)

  expect((await replace([...tags, 'more'])).status).toBe(400)
  const { status, body } = await one('addServerTag', 'more')
  expect(status).toBe(400)
  expect(body).toMatchObject({
    badRequest: { message: 'The number of tags exceeded the per-server limit 50' },
  })
  expect((await one('addServerTag', 'tag-7')).status).toBe(204)
})

test.each(['t'.repeat(61), 'a,b', 'a/b'])('the tag %j is refused with 400', async (tag) => {
  expect((await one('addServerTag', tag)).status).toBe(400)
  expect((await replace([tag])).status).toBe(400)
  expect(await shown()).toEqual(['one', 'two'])
})

test('concurrent requests add all of their tags', async () => {
  const tags = Array.from({ length: 8 }, (_, nth) => `tag-${nth}`)

  const answers = await Promise.all(tags.map((tag) => one('addServerTag', tag)))

  expect(answers.map(({ status }) => status)).toEqual(tags.map(() => 201))
  expect(await shown()).toEqual(expect.arrayContaining(tags))
})

test('a change moves `updated`', async () => {
  const before = await findServer(world.api.gateway.db, id)

  await one('addServerTag', 'later')

  const after = await findServer(world.api.gateway.db, id)
  expect(after!.updatedAt.getTime()).toBeGreaterThan(before!.updatedAt.getTime())
})

test('a server that is being built refuses, in Nova’s words', async () => {
  world.cell.isPrompt = false
  const { body } = await alice.call<{ readonly server: { readonly id: string } }>('createServer', {
    body: world.body({ tags: ['early'] }),
    version: '2.52',
  })
  const params = { server_id: body.server.id, tag: 'early' }

  for (const [operation, action] of [
    ['addServerTag', 'update tag'],
    ['deleteServerTag', 'delete tag'],
    ['deleteServerTags', 'delete tags'],
  ] as const) {
    const refused = await alice.call(operation, { params, version })
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({
      conflictingRequest: {
        message: `Cannot '${action}' instance ${params.server_id} while it is in vm_state building`,
      },
    })
  }
  expect((await alice.call('checkServerTag', { params, version })).status).toBe(204)
  // Not before: the cell is asked for the build after the boot was answered.
  world.cell.isPrompt = true
})

test('another project’s tags are not found and stay as they are', async () => {
  const answers = [
    await all('listServerTags', undefined, bob),
    await replace([], bob),
    await all('deleteServerTags', undefined, bob),
    await one('checkServerTag', 'one', bob),
    await one('addServerTag', 'three', bob),
    await one('deleteServerTag', 'one', bob),
  ]

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  expect(await shown()).toEqual(['one', 'two'])
})

test('tags do not exist before 2.26', async () => {
  const { status } = await alice.call('listServerTags', {
    params: { server_id: id },
    version: '2.25',
  })

  expect(status).toBe(404)
})
