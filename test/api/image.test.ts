import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from './identity-world.ts'
import { type ImageApi, imageApi } from './image-api.ts'
import { listOf, textOf } from './json.ts'

let api: ImageApi

beforeAll(async () => {
  api = await imageApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const PATCH = 'application/openstack-images-v2.1-json-patch'

describe('discovery', () => {
  test.each([
    ['/image', 300],
    ['/image/', 300],
    ['/image/versions', 200],
  ] as const)('GET %s lists versions without a token', async (path, status) => {
    const reply = await api.http.ask('GET', path)

    expect(reply.status).toBe(status)
    expect(listOf(reply.body['versions'])[0]).toEqual({
      id: 'v2.9',
      status: 'CURRENT',
      links: [{ rel: 'self', href: 'http://cloud.test:8774/image/v2/' }],
    })
  })

  test('the schemas list the attributes of an image', async () => {
    const reply = await api.http.ask('GET', '/image/v2/schemas/image', { token: api.demo })

    expect(reply.status).toBe(200)
    expect(reply.body['properties']).toHaveProperty('os_hash_value')
  })
})

describe('an image', () => {
  test('is created, filled, read back and deleted, with its bytes', async () => {
    const content = randomBytes(300_000)
    const id = await api.create(api.demo, {
      min_disk: 1,
      'owner_specified.openstack.md5': '',
      'owner_specified.openstack.object': 'images/tiny',
      tags: ['b', 'a'],
    })
    expect((await api.show(api.demo, id)).body).toMatchObject({ status: 'queued', size: null })

    const uploaded = await api.upload(api.demo, id, content)
    const shown = await api.show(api.demo, id)
    const file = await api.download(api.demo, id)

    expect(uploaded.status).toBe(204)
    expect(shown.body).toEqual({
      id,
      name: 'tiny',
      status: 'active',
      visibility: 'shared',
      owner: api.demoProject,
      size: 300_000,
      virtual_size: 300_000,
      checksum: createHash('md5').update(content).digest('hex'),
      os_hash_algo: 'sha512',
      os_hash_value: createHash('sha512').update(content).digest('hex'),
      disk_format: 'raw',
      container_format: 'bare',
      min_disk: 1,
      min_ram: 0,
      protected: false,
      os_hidden: false,
      tags: ['a', 'b'],
      stores: 'local',
      'owner_specified.openstack.md5': '',
      'owner_specified.openstack.object': 'images/tiny',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: expect.any(String),
      self: `/v2/images/${id}`,
      file: `/v2/images/${id}/file`,
      schema: '/v2/schemas/image',
    })
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)
    expect(file.headers.get('content-length')).toBe('300000')
    expect(await api.storedFiles()).toEqual([createHash('sha256').update(content).digest('hex')])

    const deleted = await api.http.ask('DELETE', `/image/v2/images/${id}`, {
      token: api.demo,
    })

    expect(deleted.status).toBe(204)
    expect((await api.show(api.demo, id)).status).toBe(404)
    expect(await api.storedFiles()).toEqual([])
  })

  test('shares its bytes with every other of the same content, until the last goes', async () => {
    const content = randomBytes(1000)
    const ids = await Promise.all([
      api.active(api.demo, content),
      api.active(api.admin, content),
      api.active(api.demo, content),
    ])
    expect(await api.storedFiles()).toHaveLength(1)

    await api.http.ask('DELETE', `/image/v2/images/${ids[0]}`, { token: api.demo })
    await api.http.ask('DELETE', `/image/v2/images/${ids[1]}`, { token: api.admin })
    const kept = await api.download(api.demo, ids[2])
    expect(Buffer.from(await kept.arrayBuffer()).equals(content)).toBe(true)
    await api.http.ask('DELETE', `/image/v2/images/${ids[2]}`, { token: api.demo })

    expect(await api.storedFiles()).toEqual([])
  })

  test('survives deletes and uploads of the same content at once', async () => {
    const content = randomBytes(1000)
    const rounds = Array.from({ length: 10 }, async () => {
      const id = await api.active(api.demo, content)
      const reply = await api.http.ask('DELETE', `/image/v2/images/${id}`, {
        token: api.demo,
      })
      expect(reply.status).toBe(204)
    })

    await Promise.all(rounds)
    const last = await api.active(api.demo, content)

    expect(await api.storedFiles()).toHaveLength(1)
    await api.http.ask('DELETE', `/image/v2/images/${last}`, { token: api.demo })
    expect(await api.storedFiles()).toEqual([])
  })

  test('is patched by attribute, property and tag', async () => {
    const id = await api.create(api.demo, { os_distro: 'debian' })
    const patch = (operations: unknown) =>
      api.http.ask('PATCH', `/image/v2/images/${id}`, {
        token: api.demo,
        body: operations,
        headers: { 'content-type': PATCH },
      })

    const changed = await patch([
      { op: 'replace', path: '/name', value: 'renamed' },
      { op: 'add', path: '/os_version', value: '12' },
      { op: 'remove', path: '/os_distro' },
    ])
    const readOnly = await patch([{ op: 'replace', path: '/status', value: 'active' }])
    const tagged = await api.http.ask('PUT', `/image/v2/images/${id}/tags/blue`, {
      token: api.demo,
    })
    const untagged = await api.http.ask('DELETE', `/image/v2/images/${id}/tags/red`, {
      token: api.demo,
    })

    expect(changed.body).toMatchObject({ name: 'renamed', os_version: '12' })
    expect(changed.body).not.toHaveProperty('os_distro')
    expect(readOnly.status).toBe(403)
    expect(tagged.status).toBe(204)
    expect(untagged.status).toBe(404)
    expect((await api.show(api.demo, id)).body['tags']).toEqual(['blue'])
  })

  test('is patched in the words of the older media type', async () => {
    const id = await api.create(api.demo)
    const patch = (operations: unknown) =>
      api.ask(api.demo, 'PATCH', `/images/${id}`, operations, {
        'content-type': 'application/openstack-images-v2.0-json-patch',
      })

    expect((await patch([{ replace: '/name', value: 'old' }])).body['name']).toBe('old')
    expect((await patch([{ add: '/os_distro', value: 'debian' }])).status).toBe(200)
    expect((await patch([{ remove: '/os_distro' }])).body).not.toHaveProperty('os_distro')
    expect((await patch([{ add: '/a', remove: '/b' }])).status).toBe(400)
    expect((await patch([{ value: 'x' }])).status).toBe(400)
  })

  test('is read in parts, and not again when it is known', async () => {
    const id = await api.active(api.demo, Buffer.from('0123456789'))
    const read = async (headers: Readonly<Record<string, string>>) => {
      const response = await api.download(api.demo, id, headers)
      return { status: response.status, headers: response.headers, text: await response.text() }
    }

    const part = await read({ range: 'bytes=2-4' })
    const rest = await read({ range: 'bytes=7-' })
    const tag = part.headers.get('etag') ?? ''

    expect(part).toMatchObject({ status: 206, text: '234' })
    expect(part.headers.get('content-range')).toBe('bytes 2-4/10')
    expect(part.headers.get('content-length')).toBe('3')
    expect(rest.text).toBe('789')
    expect((await read({ range: 'bytes=10-' })).status).toBe(416)
    expect(await read({ 'if-none-match': tag })).toMatchObject({ status: 304, text: '' })
    expect((await read({ 'if-none-match': '"other"' })).text).toBe('0123456789')
  })

  test('that is protected is not deleted', async () => {
    const id = await api.create(api.demo, { protected: true })

    const reply = await api.http.ask('DELETE', `/image/v2/images/${id}`, { token: api.demo })

    expect(reply.status).toBe(403)
    expect(reply.body['error']!['message']).toContain('protected')
  })

  test('that is deactivated gives its content to administrators only', async () => {
    const id = await api.active(api.demo, Buffer.from('content'))
    const actions = `/image/v2/images/${id}/actions`
    expect((await api.http.ask('POST', `${actions}/deactivate`, { token: api.demo })).status).toBe(
      204,
    )

    const file = `/image/v2/images/${id}/file`
    expect((await api.http.ask('GET', file, { token: api.demo })).status).toBe(403)
    expect((await api.http.ask('GET', file, { token: api.admin })).status).toBe(200)

    expect((await api.http.ask('POST', `${actions}/reactivate`, { token: api.demo })).status).toBe(
      204,
    )
    expect((await api.http.ask('GET', file, { token: api.demo })).status).toBe(200)
  })
})

describe('a list', () => {
  test('is filtered by name, ids, tag, property and visibility', async () => {
    const mark = randomBytes(4).toString('hex')
    const a = await api.create(api.demo, { name: `${mark}-a`, tags: [mark], weir_mark: mark })
    const b = await api.create(api.demo, { name: `${mark}-b`, weir_mark: mark })
    const hidden = await api.create(api.demo, { weir_mark: mark, os_hidden: true })

    expect(await api.listed(api.demo, `name=${mark}-a`)).toEqual([a])
    expect(await api.listed(api.demo, `name=in:${mark}-a,"${mark}-b"&sort=name:asc`)).toEqual([
      a,
      b,
    ])
    expect(await api.listed(api.demo, `id=in:${a},${b}&sort=name:desc`)).toEqual([b, a])
    expect(await api.listed(api.demo, `tag=${mark}`)).toEqual([a])
    expect(await api.listed(api.demo, `weir_mark=${mark}&sort=name:asc`)).toEqual([a, b])
    expect(await api.listed(api.demo, `weir_mark=${mark}&os_hidden=true`)).toEqual([hidden])
    expect(await api.listed(api.demo, `weir_mark=${mark}&status=active`)).toEqual([])
    expect(await api.listed(api.demo, `weir_mark=${mark}&visibility=public`)).toEqual([])
    expect(await api.listed(api.demo, `weir_mark=${mark}&protected=true`)).toEqual([])
    expect(await api.listed(api.demo, `weir_mark=${mark}&size_min=1`)).toEqual([])
    expect(await api.listed(api.demo, `id=${a}&created_at=gte:2020-01-01T00:00:00Z`)).toEqual([a])
    expect(await api.listed(api.demo, `id=${a}&updated_at=lt:2020-01-01T00:00:00Z`)).toEqual([])
    expect(
      await api.listed(
        api.demo,
        `weir_mark=${mark}&sort_key=status&sort_key=name&sort_dir=asc&sort_dir=desc`,
      ),
    ).toEqual([b, a])
    expect(await api.listed(api.demo, `weir_mark=${mark}' OR '1'='1`)).toEqual([])
  })

  test('is paged without a repeat or a gap, by keys that are equal or absent', async () => {
    const mark = randomBytes(4).toString('hex')
    const names = ['x', 'x', null, 'y', null]
    const all = await Promise.all(
      names.map((name) => api.create(api.demo, { name, weir_page: mark })),
    )

    const seen: string[] = []
    let path: string | undefined = `/v2/images?weir_page=${mark}&sort=name:asc&limit=2`
    for (let pages = 0; path !== undefined && pages < 5; pages += 1) {
      const reply: Reply = await api.http.ask('GET', `/image${path}`, { token: api.demo })
      seen.push(...listOf(reply.body['images']).map((image) => textOf(image['id'])))
      path = textOf(reply.body['next'])
    }

    expect(seen).toHaveLength(5)
    expect(new Set(seen)).toEqual(new Set(all))
  })

  test.each([
    'limit=x',
    'marker=nothing',
    'sort=secret',
    'sort=name:up',
    'status=odd',
    'visibility=odd',
    'name=in:',
    'name=in:a,,b',
    'created_at=gte:never',
    'protected=perhaps',
    'size_min=-1',
    'member_status=odd',
  ])('with %s is refused', async (query) => {
    const reply = await api.http.ask('GET', `/image/v2/images?${query}`, { token: api.demo })

    expect(reply.status).toBe(400)
  })
})

describe('a create body', () => {
  test.each([
    [{ disk_format: 'ploop' }, 400],
    [{ container_format: 'ova' }, 400],
    [{ min_disk: -1 }, 400],
    [{ name: 'x'.repeat(256) }, 400],
    [{ id: 'not-a-uuid' }, 400],
    [{ status: 'active' }, 403],
    [{ locations: 'x' }, 403],
    [{ os_glance_x: 'y' }, 403],
    [{ number: 3 }, 400],
  ] as const)('%j is refused with %d', async (body, status) => {
    const reply = await api.http.ask('POST', '/image/v2/images', { token: api.demo, body })

    expect(reply.status, JSON.stringify(reply.body)).toBe(status)
  })

  test('may choose an id that is free', async () => {
    const id = '3f1b9a52-3f59-4bd6-9bb5-0f6bd8a7ce11'
    expect(await api.create(api.demo, { id })).toBe(id)

    const again = await api.http.ask('POST', '/image/v2/images', {
      token: api.admin,
      body: { id },
    })

    expect(again.status).toBe(409)
  })
})
