import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { collectImages } from '#gateway/app/images/collect-content.ts'
import { imageForBoot, ticketForCell } from '#gateway/app/images/image-for-boot.ts'
import { images as imageTable } from '#gateway/db/schema/image.ts'
import {
  type Face,
  type IdentityWorld,
  identityWorld,
  type Json,
  type Reply,
} from './identity-world.ts'

const SIZE_MAX = 1_000_000
const PATCH = 'application/openstack-images-v2.1-json-patch'
let world: IdentityWorld
let face: Face
let admin: string
let demo: string
let adminProject: string
let demoProject: string

beforeAll(async () => {
  world = await identityWorld()
  face = await world.addGateway({ GATEWAY_IMAGE_SIZE_MAX_BYTES: String(SIZE_MAX) }, [
    'identity',
    'image',
  ])
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  const made = await bootstrapIdentity(face.gateway.db, { adminPassword, demoPassword })
  adminProject = made.adminProjectId
  demoProject = made.demoProjectId
  admin = await face.logIn('admin', adminPassword)
  demo = await face.logIn('demo', demoPassword)
})

afterAll(async () => {
  await world[Symbol.asyncDispose]()
})

async function create(token: string, draft: object = {}): Promise<string> {
  const body = { name: 'tiny', disk_format: 'raw', container_format: 'bare', ...draft }
  const reply = await face.ask('POST', '/image/v2/images', { token, body })
  expect(reply.status, JSON.stringify(reply.body)).toBe(201)
  return String(reply.body['id'])
}

async function upload(
  token: string,
  id: string,
  content: string | Buffer | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return face.app.request(`http://cloud.test:8774/image/v2/images/${id}/file`, {
    method: 'PUT',
    headers: { 'x-auth-token': token, 'content-type': 'application/octet-stream', ...headers },
    body: content,
    duplex: 'half',
  } as RequestInit)
}

async function active(token: string, content: Buffer, draft: object = {}): Promise<string> {
  const id = await create(token, draft)
  expect((await upload(token, id, content)).status).toBe(204)
  return id
}

const show = (token: string, id: string) => face.ask('GET', `/image/v2/images/${id}`, { token })

async function listed(token: string, query: string): Promise<readonly string[]> {
  const reply = await face.ask('GET', `/image/v2/images?${query}`, { token })
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return (reply.body['images'] as unknown as readonly Json[]).map((image) => String(image['id']))
}

async function storedFiles(): Promise<readonly string[]> {
  const folders = ['contents', 'incoming'].map((name) =>
    join(face.gateway.config.imageDirectory, name),
  )
  return (await Promise.all(folders.map((folder) => readdir(folder)))).flat()
}

function qcow2WithBackingFile(): Buffer {
  const content = Buffer.alloc(70_000)
  content.write('QFI\xfb', 0, 'latin1')
  content.writeUInt32BE(3, 4)
  content.writeBigUInt64BE(1024n, 8)
  content.writeUInt32BE(11, 16)
  content.writeUInt32BE(16, 20)
  content.writeUInt32BE(104, 100)
  content.write('/etc/passwd', 1024)
  return content
}

describe('discovery', () => {
  test.each([
    ['/image', 300],
    ['/image/', 300],
    ['/image/versions', 200],
  ] as const)('GET %s lists versions without a token', async (path, status) => {
    const reply = await face.ask('GET', path)

    expect(reply.status).toBe(status)
    expect((reply.body['versions'] as unknown as Json[])[0]).toEqual({
      id: 'v2.7',
      status: 'CURRENT',
      links: [{ rel: 'self', href: 'http://cloud.test:8774/image/v2/' }],
    })
  })

  test('the schemas say what is an attribute', async () => {
    const reply = await face.ask('GET', '/image/v2/schemas/image', { token: demo })

    expect(reply.status).toBe(200)
    expect(reply.body['properties']).toHaveProperty('os_hash_value')
  })
})

describe('an image', () => {
  test('is created, filled, read back and deleted, with its bytes', async () => {
    const content = randomBytes(300_000)
    const id = await create(demo, {
      min_disk: 1,
      'owner_specified.openstack.md5': '',
      'owner_specified.openstack.object': 'images/tiny',
      tags: ['b', 'a'],
    })
    expect((await show(demo, id)).body).toMatchObject({ status: 'queued', size: null })

    const uploaded = await upload(demo, id, content)
    const shown = await show(demo, id)
    const file = await face.app.request(`http://cloud.test:8774/image/v2/images/${id}/file`, {
      headers: { 'x-auth-token': demo },
    })

    expect(uploaded.status).toBe(204)
    expect(shown.body).toEqual({
      id,
      name: 'tiny',
      status: 'active',
      visibility: 'shared',
      owner: demoProject,
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
    expect(await storedFiles()).toEqual([createHash('sha256').update(content).digest('hex')])

    const deleted = await face.ask('DELETE', `/image/v2/images/${id}`, { token: demo })

    expect(deleted.status).toBe(204)
    expect((await show(demo, id)).status).toBe(404)
    expect(await storedFiles()).toEqual([])
  })

  test('shares its bytes with every other of the same content, until the last goes', async () => {
    const content = randomBytes(1000)
    const ids = await Promise.all([
      active(demo, content),
      active(admin, content),
      active(demo, content),
    ])
    expect(await storedFiles()).toHaveLength(1)

    await face.ask('DELETE', `/image/v2/images/${ids[0]}`, { token: demo })
    await face.ask('DELETE', `/image/v2/images/${ids[1]}`, { token: admin })
    const kept = await face.app.request(`http://cloud.test:8774/image/v2/images/${ids[2]}/file`, {
      headers: { 'x-auth-token': demo },
    })
    expect(Buffer.from(await kept.arrayBuffer()).equals(content)).toBe(true)
    await face.ask('DELETE', `/image/v2/images/${ids[2]}`, { token: demo })

    expect(await storedFiles()).toEqual([])
  })

  test('survives deletes and uploads of the same content at once', async () => {
    const content = randomBytes(1000)
    const rounds = Array.from({ length: 10 }, async () => {
      const id = await active(demo, content)
      const reply = await face.ask('DELETE', `/image/v2/images/${id}`, { token: demo })
      expect(reply.status).toBe(204)
    })

    await Promise.all(rounds)
    const last = await active(demo, content)

    expect(await storedFiles()).toHaveLength(1)
    await face.ask('DELETE', `/image/v2/images/${last}`, { token: demo })
    expect(await storedFiles()).toEqual([])
  })

  test('is patched by attribute, property and tag', async () => {
    const id = await create(demo, { os_distro: 'debian' })
    const patch = (operations: unknown) =>
      face.ask('PATCH', `/image/v2/images/${id}`, {
        token: demo,
        body: operations,
        headers: { 'content-type': PATCH },
      })

    const changed = await patch([
      { op: 'replace', path: '/name', value: 'renamed' },
      { op: 'add', path: '/os_version', value: '12' },
      { op: 'remove', path: '/os_distro' },
    ])
    const readOnly = await patch([{ op: 'replace', path: '/status', value: 'active' }])
    const tagged = await face.ask('PUT', `/image/v2/images/${id}/tags/blue`, { token: demo })
    const untagged = await face.ask('DELETE', `/image/v2/images/${id}/tags/red`, { token: demo })

    expect(changed.body).toMatchObject({ name: 'renamed', os_version: '12' })
    expect(changed.body).not.toHaveProperty('os_distro')
    expect(readOnly.status).toBe(403)
    expect(tagged.status).toBe(204)
    expect(untagged.status).toBe(404)
    expect((await show(demo, id)).body['tags']).toEqual(['blue'])
  })

  test('that is protected is not deleted', async () => {
    const id = await create(demo, { protected: true })

    const reply = await face.ask('DELETE', `/image/v2/images/${id}`, { token: demo })

    expect(reply.status).toBe(403)
    expect(reply.body['error']!['message']).toContain('protected')
  })

  test('that is deactivated gives its content to administrators only', async () => {
    const id = await active(demo, Buffer.from('content'))
    const actions = `/image/v2/images/${id}/actions`
    expect((await face.ask('POST', `${actions}/deactivate`, { token: demo })).status).toBe(204)

    const file = `/image/v2/images/${id}/file`
    expect((await face.ask('GET', file, { token: demo })).status).toBe(403)
    expect((await face.ask('GET', file, { token: admin })).status).toBe(200)

    expect((await face.ask('POST', `${actions}/reactivate`, { token: demo })).status).toBe(204)
    expect((await face.ask('GET', file, { token: demo })).status).toBe(200)
  })
})

describe('an upload', () => {
  async function refused(id: string, reply: Response, status: number, text: string): Promise<void> {
    expect(reply.status).toBe(status)
    expect(await reply.text()).toContain(text)
    expect((await show(demo, id)).body).toMatchObject({
      status: 'queued',
      size: null,
      checksum: null,
    })
  }

  test('that is not what it claims leaves nothing behind, and can be done again', async () => {
    const before = await storedFiles()
    const id = await create(demo, { disk_format: 'qcow2' })

    await refused(
      id,
      await upload(demo, id, randomBytes(5000)),
      400,
      'not an acceptable qcow2 image',
    )
    await refused(id, await upload(demo, id, qcow2WithBackingFile()), 400, 'backing file')

    expect(await storedFiles()).toEqual(before)
  })

  test('above the size limit is refused, declared or not', async () => {
    const before = await storedFiles()
    const id = await create(demo)
    const declared = { 'content-length': String(SIZE_MAX + 1) }

    await refused(id, await upload(demo, id, 'x', declared), 413, 'size limit')
    await refused(id, await upload(demo, id, Buffer.alloc(SIZE_MAX + 1)), 413, 'size limit')

    expect(await storedFiles()).toEqual(before)
  })

  test('that breaks off leaves the image queued', async () => {
    const before = await storedFiles()
    const id = await create(demo)
    let sent = 0
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1
        if (sent < 3) controller.enqueue(new Uint8Array(1000))
        else controller.error(new Error('the client went away'))
      },
    })

    const reply = await upload(demo, id, broken)

    expect(reply.status).toBe(400)
    expect((await show(demo, id)).body['status']).toBe('queued')
    expect(await storedFiles()).toEqual(before)
  })

  test('happens once: a second one is a conflict', async () => {
    const id = await active(demo, Buffer.from('first'))

    const reply = await upload(demo, id, 'second')

    expect(reply.status).toBe(409)
  })

  test('at the same time as another of the same image is done by one of them', async () => {
    const id = await create(demo)

    const replies = await Promise.all(['one', 'two', 'three'].map((text) => upload(demo, id, text)))

    expect(replies.map((reply) => reply.status).sort()).toEqual([204, 409, 409])
    expect((await show(demo, id)).body['status']).toBe('active')
  })

  test('needs formats, and bytes declared as such', async () => {
    const bare = await create(demo, { disk_format: null })
    const id = await create(demo)

    expect((await upload(demo, bare, 'x')).status).toBe(400)
    expect((await upload(demo, id, '{}', { 'content-type': 'application/json' })).status).toBe(415)
  })

  test('of a process that died is taken over when its lease is over', async () => {
    const id = await create(demo)
    const { db } = face.gateway
    await db.orm.execute(
      `update images set status = 'saving', upload_id = '${id}', upload_expires_at = '2020-01-01' where id = '${id}'`,
    )

    const report = await collectImages(face.gateway.images, AbortSignal.timeout(10_000))

    expect(report.uploadsAbandoned).toBe(1)
    expect((await show(demo, id)).body['status']).toBe('queued')
    const rows = await db.orm.select({ upload: imageTable.uploadId }).from(imageTable)
    expect(rows.every((row) => row.upload === null)).toBe(true)
  })
})

describe('a list', () => {
  test('is filtered by name, ids, tag, property and visibility', async () => {
    const mark = randomBytes(4).toString('hex')
    const a = await create(demo, { name: `${mark}-a`, tags: [mark], weir_mark: mark })
    const b = await create(demo, { name: `${mark}-b`, weir_mark: mark })
    const hidden = await create(demo, { weir_mark: mark, os_hidden: true })

    expect(await listed(demo, `name=${mark}-a`)).toEqual([a])
    expect(await listed(demo, `name=in:${mark}-a,"${mark}-b"&sort=name:asc`)).toEqual([a, b])
    expect(await listed(demo, `id=in:${a},${b}&sort=name:desc`)).toEqual([b, a])
    expect(await listed(demo, `tag=${mark}`)).toEqual([a])
    expect(await listed(demo, `weir_mark=${mark}&sort=name:asc`)).toEqual([a, b])
    expect(await listed(demo, `weir_mark=${mark}&os_hidden=true`)).toEqual([hidden])
    expect(await listed(demo, `weir_mark=${mark}&status=active`)).toEqual([])
    expect(await listed(demo, `weir_mark=${mark}&visibility=public`)).toEqual([])
    expect(await listed(demo, `weir_mark=${mark}' OR '1'='1`)).toEqual([])
  })

  test('is paged without a repeat or a gap, by keys that are equal or absent', async () => {
    const mark = randomBytes(4).toString('hex')
    const names = ['x', 'x', null, 'y', null]
    const all = await Promise.all(names.map((name) => create(demo, { name, weir_page: mark })))

    const seen: string[] = []
    let path: string | undefined = `/v2/images?weir_page=${mark}&sort=name:asc&limit=2`
    for (let pages = 0; path !== undefined && pages < 5; pages += 1) {
      const reply: Reply = await face.ask('GET', `/image${path}`, { token: demo })
      seen.push(...(reply.body['images'] as unknown as Json[]).map((image) => String(image['id'])))
      path = reply.body['next'] as string | undefined
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
  ])('with %s is refused', async (query) => {
    const reply = await face.ask('GET', `/image/v2/images?${query}`, { token: demo })

    expect(reply.status).toBe(400)
  })
})

describe('another project', () => {
  const actions: readonly {
    readonly method: string
    readonly path: string
    readonly body?: unknown
  }[] = [
    { method: 'GET', path: '' },
    { method: 'PATCH', path: '', body: [{ op: 'replace', path: '/name', value: 'mine' }] },
    { method: 'DELETE', path: '' },
    { method: 'GET', path: '/file' },
    { method: 'PUT', path: '/file' },
    { method: 'POST', path: '/actions/deactivate' },
    { method: 'POST', path: '/actions/reactivate' },
    { method: 'PUT', path: '/tags/mine' },
    { method: 'DELETE', path: '/tags/mine' },
    { method: 'GET', path: '/members' },
  ]

  test.each(actions)('does not find a private image: $method $path', async (action) => {
    const { method, path, body } = action
    const id = await create(admin, { visibility: 'private' })
    const headers = path === '/file' ? { 'content-type': 'application/octet-stream' } : {}

    const reply = await face.ask(method, `/image/v2/images/${id}${path}`, {
      token: demo,
      body,
      headers,
    })

    expect(reply.status).toBe(404)
  })

  test('sees a public image and may not change it', async () => {
    const id = await active(admin, Buffer.from('public'), { visibility: 'public' })

    expect((await show(demo, id)).status).toBe(200)
    expect(await listed(demo, `id=${id}`)).toEqual([id])
    expect((await face.ask('DELETE', `/image/v2/images/${id}`, { token: demo })).status).toBe(403)
    expect((await upload(demo, id, 'x')).status).toBe(403)
  })

  test('sees community images only when it asks for them', async () => {
    const id = await create(admin, { visibility: 'community' })

    expect(await listed(demo, `id=${id}`)).toEqual([])
    expect(await listed(demo, `id=${id}&visibility=community`)).toEqual([id])
  })

  test('cannot be given an image, nor the public one, by a user', async () => {
    const draft = (more: object) => ({ token: demo, body: { name: 'x', ...more } })

    const foreign = await face.ask('POST', '/image/v2/images', draft({ owner: adminProject }))
    const open = await face.ask('POST', '/image/v2/images', draft({ visibility: 'public' }))

    expect(foreign.status).toBe(403)
    expect(open.status).toBe(403)
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
    const reply = await face.ask('POST', '/image/v2/images', { token: demo, body })

    expect(reply.status, JSON.stringify(reply.body)).toBe(status)
  })

  test('may choose an id that is free', async () => {
    const id = '3f1b9a52-3f59-4bd6-9bb5-0f6bd8a7ce11'
    expect(await create(demo, { id })).toBe(id)

    const again = await face.ask('POST', '/image/v2/images', { token: admin, body: { id } })

    expect(again.status).toBe(409)
  })
})

describe('a cell', () => {
  const cellId = '6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'
  const internal = (id: string, ticket: string | undefined) =>
    face.app.request(`http://cloud.test:8774/image/internal/images/${id}/file`, {
      headers: ticket === undefined ? {} : { 'x-weir-image-ticket': ticket },
    })

  test('reads a private image with a ticket and without a token', async () => {
    const id = await active(demo, Buffer.from('for a cell'), { visibility: 'private' })
    const other = await active(demo, Buffer.from('another'))
    const ticket = ticketForCell(face.gateway.images, id, cellId)

    expect(await (await internal(id, ticket)).text()).toBe('for a cell')
    expect((await internal(other, ticket)).status).toBe(401)
    expect((await internal(id, undefined)).status).toBe(401)
    expect((await internal(id, `${ticket}x`)).status).toBe(401)
  })
})

describe('a boot', () => {
  const flavor = { memoryMb: 128, rootGb: 1 }
  const boot = (id: string, wanted = flavor) =>
    imageForBoot(face.gateway.images, { projectId: demoProject, isAdmin: false }, id, wanted)

  test('gets an active image as the wire describes it', async () => {
    const content = randomBytes(100)
    const id = await active(demo, content, { hw_machine_type: 'q35' })

    expect(await boot(id)).toEqual({
      id,
      name: 'tiny',
      diskFormat: 'raw',
      sizeBytes: 100,
      sha256: createHash('sha256').update(content).digest('hex'),
      minDiskGb: 0,
      minRamMb: 0,
      properties: { hw_machine_type: 'q35' },
    })
  })

  test("is refused in Nova's words", async () => {
    const queued = await create(demo)
    const foreign = await active(admin, Buffer.from('x'), { visibility: 'private' })
    const demanding = await active(demo, Buffer.from('y'), { min_ram: 512, min_disk: 0 })
    const large = await active(demo, Buffer.from('z'), { min_disk: 5 })

    await expect(boot(queued)).rejects.toThrow(`Image ${queued} is not active.`)
    await expect(boot(foreign)).rejects.toThrow('Can not find requested image')
    await expect(boot('nonsense')).rejects.toThrow('Can not find requested image')
    await expect(boot(demanding)).rejects.toThrow("Flavor's memory is too small")
    await expect(boot(large)).rejects.toThrow('minimum size is 5368709120 bytes')
    await expect(boot(large, { memoryMb: 128, rootGb: 0 })).resolves.toMatchObject({ id: large })
  })
})
