import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { collectImages } from '#gateway/app/images/collect-content.ts'
import type { Json } from './identity-world.ts'
import { type ImageApi, imageApi, SIZE_MAX } from './image-api.ts'
import { listOf, textOf } from './json.ts'

const CONTENT = randomBytes(5_000)
const SETTLED_LIMIT_MS = 30_000

let api: ImageApi
let remote: Server
let port: number
const asked: string[] = []
/** Each ends one of the answers that do not come. */
const silent: (() => void)[] = []

beforeAll(async () => {
  remote = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`)
    if (request.url === '/image') response.end(CONTENT)
    else if (request.url === '/inside') redirect(response, 'http://127.0.0.2:1/secret')
    else if (request.url === '/moved') redirect(response, '/image')
    else if (request.url === '/loop') redirect(response, '/loop')
    else if (request.url === '/file') redirect(response, 'file:///etc/passwd')
    else if (request.url === '/large') response.end(Buffer.alloc(SIZE_MAX + 1))
    else if (request.url === '/silent') silent.push(() => response.destroy())
    else if (request.url === '/broken') breakOff(response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve))
  port = (remote.address() as AddressInfo).port
  api = await imageApi({
    GATEWAY_IMAGE_IMPORT_NETWORKS: '127.0.0.1/32',
    GATEWAY_IMAGE_IMPORT_PORTS: `1,80,${port}`,
  })
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  remote.close()
})

function redirect(response: import('node:http').ServerResponse, to: string): void {
  response.writeHead(302, { location: to }).end()
}

function breakOff(response: import('node:http').ServerResponse): void {
  response.writeHead(200, { 'content-length': '5000' })
  response.write(CONTENT.subarray(0, 100), () => response.destroy())
}

const startImport = (id: string, method: object) =>
  api.ask(api.demo, 'POST', `/images/${id}/import`, { method })

/** The one task of an image, once it has ended. */
async function endedTask(id: string): Promise<Json> {
  return waitFor(
    'the import to end',
    async () => {
      const reply = await api.ask(api.demo, 'GET', `/images/${id}/tasks`)
      const [task] = listOf(reply.body['tasks'])
      const hasEnded =
        task?.['status'] === ('success' as never) || task?.['message'] !== ('' as never)
      return hasEnded ? task : undefined
    },
    SETTLED_LIMIT_MS,
  )
}

describe('glance-direct', () => {
  test('makes staged content the image’s', async () => {
    const id = await api.create(api.demo)
    const staged = await api.upload(api.demo, id, CONTENT, {}, 'stage')
    const between = await api.show(api.demo, id)

    expect(staged.status).toBe(204)
    expect(between.body).toMatchObject({ status: 'uploading', size: 5_000, checksum: null })
    expect((await api.download(api.demo, id)).status).toBe(204)
    expect((await startImport(id, { name: 'glance-direct' })).status).toBe(202)
    const task = await endedTask(id)

    expect(task).toMatchObject({
      type: 'api_image_import',
      status: 'success',
      image_id: id,
      owner: api.demoProject,
      input: { image_id: id, import_req: { method: { name: 'glance-direct' } } },
      result: { image_id: id },
    })
    expect((await api.show(api.demo, id)).body).toMatchObject({ status: 'active', size: 5_000 })
    expect(Buffer.from(await (await api.download(api.demo, id)).arrayBuffer())).toEqual(CONTENT)
    expect((await startImport(id, { name: 'glance-direct' })).status).toBe(409)

    const all = await api.ask(api.admin, 'GET', `/tasks?limit=1&status=success`)
    expect(listOf(all.body['tasks'])[0]).toMatchObject({ id: task['id'], status: 'success' })
    const one = await api.ask(api.admin, 'GET', `/tasks/${textOf(task['id'])}`)
    expect(one.body).toEqual(task)
    expect((await api.ask(api.demo, 'GET', '/tasks')).status).toBe(403)
    await api.ask(api.demo, 'DELETE', `/images/${id}`)
  })

  test('of content in another format than declared fails, and leaves only the queued image', async () => {
    const before = await api.storedFiles()
    const id = await api.create(api.demo, { disk_format: 'qcow2' })
    await api.upload(api.demo, id, CONTENT, {}, 'stage')

    await startImport(id, { name: 'glance-direct' })
    const task = await endedTask(id)

    expect(task['status']).toBe('failure')
    expect(task['message']).toContain('not an acceptable qcow2 image')
    expect((await api.show(api.demo, id)).body).toMatchObject({ status: 'queued', size: null })
    expect(await api.storedFiles()).toEqual(before)
  })

  test('needs staged content, formats, and an image of one’s own', async () => {
    const queued = await api.create(api.demo)
    const bare = await api.create(api.demo, { disk_format: null })
    await api.upload(api.demo, bare, CONTENT, {}, 'stage')
    const foreign = await api.create(api.admin, { visibility: 'public' })
    const direct = { name: 'glance-direct' }

    expect((await startImport(queued, direct)).status).toBe(409)
    expect((await startImport(bare, direct)).status).toBe(409)
    expect((await startImport(foreign, direct)).status).toBe(403)
    expect((await startImport(queued, { name: 'copy-image' })).status).toBe(400)
    expect((await api.upload(api.demo, bare, CONTENT)).status).toBe(400)
    await api.ask(api.demo, 'DELETE', `/images/${bare}`)
    expect(await api.storedFiles()).toEqual([])
  })
})

describe('web-download', () => {
  const url = (path: string) => `http://127.0.0.1:${port}${path}`

  test.each(['/image', '/moved'])('of %s gives the image the content of the URL', async (path) => {
    const id = await api.create(api.demo)

    expect((await startImport(id, { name: 'web-download', uri: url(path) })).status).toBe(202)
    const task = await endedTask(id)

    expect(task['status'], textOf(task['message'])).toBe('success')
    expect(Buffer.from(await (await api.download(api.demo, id)).arrayBuffer())).toEqual(CONTENT)
    await api.ask(api.demo, 'DELETE', `/images/${id}`)
  })

  test.each([
    ['/inside', 'address 127.0.0.2 is not public'],
    ['/file', 'only http and https'],
    ['/loop', 'redirects more than'],
    ['/missing', 'answered 404'],
    ['/large', 'size limit'],
    ['/broken', 'ended too early'],
  ])('of %s fails and leaves nothing', async (path, why) => {
    const id = await api.create(api.demo)

    await startImport(id, { name: 'web-download', uri: url(path) })
    const task = await endedTask(id)

    expect(task).toMatchObject({ status: 'failure', result: null })
    expect(task['message']).toContain(why)
    expect((await api.show(api.demo, id)).body['status']).toBe('queued')
    expect(await api.storedFiles()).toEqual([])
    expect(asked).not.toContain('127.0.0.2:1/secret')
  })

  test.each([
    'http://169.254.169.254/x',
    'http://localhost:22/x',
    'file:///etc/passwd',
    'http://a:b@c/',
  ])('of %s is refused at once', async (uri) => {
    const id = await api.create(api.demo)

    const reply = await startImport(id, { name: 'web-download', uri })

    expect(reply.status).toBe(400)
    expect((await api.show(api.demo, id)).body['status']).toBe('queued')
  })

  test('of a name that resolves inside is refused when it is asked', async () => {
    const id = await api.create(api.demo)

    await startImport(id, { name: 'web-download', uri: 'http://ip6-localhost/x' })

    expect((await endedTask(id))['message']).toMatch(/not public|cannot be found/)
  })

  /** An import that a process was at when it died. */
  async function leaveImport(id: string, tries: number): Promise<void> {
    const { db } = api.http.gateway
    await db.orm.execute(
      `update images set status = 'importing', upload_id = '${id}' where id = '${id}'`,
    )
    const request = JSON.stringify({ method: { name: 'web-download', uri: url('/image') } })
    await db.orm.execute(
      `insert into image_tasks (id, image_id, owner, request_id, status, request, message, tries, lease_until,
         created_at, updated_at)
       values ('${id}', '${id}', 'x', 'req-x', 'processing', '${request}', '', ${tries}, '2020-01-01', now(), now())`,
    )
  }

  test('that ended its process too often is taken up no more', async () => {
    const id = await api.create(api.demo)
    const before = asked.length
    await leaveImport(id, 3)

    api.http.gateway.images.importsDue()
    const task = await endedTask(id)

    expect(task).toMatchObject({ status: 'failure' })
    expect(task['message']).toContain('interrupted too often')
    expect(asked.length).toBe(before)
    expect((await api.show(api.demo, id)).body['status']).toBe('queued')
  })

  test('from servers that do not answer delays neither other projects nor staged images', async () => {
    const slow = await Promise.all(Array.from({ length: 12 }, () => api.create(api.demo)))
    const [staged, other] = [await api.create(api.demo), await api.create(api.admin)]
    await api.upload(api.demo, staged, CONTENT, {}, 'stage')
    for (const id of slow) await startImport(id, { name: 'web-download', uri: url('/silent') })
    await expect.poll(() => asked.filter((each) => each.endsWith('/silent')).length).toBe(1)

    await startImport(staged, { name: 'glance-direct' })
    const body = { method: { name: 'web-download', uri: url('/image') } }
    await api.ask(api.admin, 'POST', `/images/${other}/import`, body)

    expect((await endedTask(staged))['status']).toBe('success')
    await expect
      .poll(async () => (await api.show(api.admin, other)).body['status'], {
        timeout: SETTLED_LIMIT_MS,
      })
      .toBe('active')
    expect(asked.filter((each) => each.endsWith('/silent'))).toHaveLength(1)
    for (const id of [...slow, staged]) await api.ask(api.demo, 'DELETE', `/images/${id}`)
    await api.ask(api.admin, 'DELETE', `/images/${other}`)
    for (const end of silent) end()
  })

  test('left by a process that died is taken up again', async () => {
    const id = await api.create(api.demo)
    await leaveImport(id, 1)

    expect(await collectImages(api.http.gateway.images, AbortSignal.timeout(10_000))).toMatchObject(
      {
        uploadsAbandoned: 0,
      },
    )
    api.http.gateway.images.importsDue()

    expect((await endedTask(id))['status']).toBe('success')
    expect((await api.show(api.demo, id)).body['status']).toBe('active')
  })
})

test('clients can list the import methods', async () => {
  const of = async (path: string) => (await api.ask(api.demo, 'GET', path)).body
  const created = await api.ask(api.demo, 'POST', '/images', { name: 'x' })

  expect(await of('/info/import')).toMatchObject({
    'import-methods': { value: ['glance-direct', 'web-download'] },
  })
  expect(await of('/info/stores')).toEqual({ stores: [{ id: 'local', default: 'true' }] })
  expect(created.headers.get('openstack-image-import-methods')).toBe('glance-direct,web-download')
  for (const name of ['image', 'images', 'member', 'members', 'task', 'tasks'])
    expect(await of(`/schemas/${name}`)).toHaveProperty('name', name)
  expect((await api.ask(api.demo, 'GET', '/schemas/secret')).status).toBe(404)
})
