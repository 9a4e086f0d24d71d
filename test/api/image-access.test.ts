import { createHash, randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { imageForBoot, ticketForCell } from '#gateway/app/images/image-for-boot.ts'
import { issueTicket } from '#gateway/app/images/ticket.ts'
import { findImage } from '#gateway/db/images.ts'
import { images } from '#gateway/db/schema/image.ts'
import { checkedStream } from '../env/api/check-response.ts'
import { type ImageApi, imageApi } from './image-api.ts'

let api: ImageApi

beforeAll(async () => {
  api = await imageApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
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
    { method: 'POST', path: '/members', body: { member: 'mine' } },
    { method: 'GET', path: '/members/mine' },
    { method: 'PUT', path: '/members/mine', body: { status: 'accepted' } },
    { method: 'DELETE', path: '/members/mine' },
    { method: 'PUT', path: '/stage' },
    { method: 'POST', path: '/import', body: { method: { name: 'glance-direct' } } },
    { method: 'GET', path: '/tasks' },
  ]

  test.each(actions)('does not find a private image: $method $path', async (action) => {
    const { method, path, body } = action
    const id = await api.create(api.admin, { visibility: 'private' })
    const headers =
      path === '/file' || path === '/stage' ? { 'content-type': 'application/octet-stream' } : {}

    const reply = await api.http.ask(method, `/image/v2/images/${id}${path}`, {
      token: api.demo,
      body,
      headers,
    })

    expect(reply.status).toBe(404)
  })

  test('sees a public image and may not change it', async () => {
    const id = await api.active(api.admin, Buffer.from('public'), { visibility: 'public' })

    expect((await api.show(api.demo, id)).status).toBe(200)
    expect(await api.listed(api.demo, `id=${id}`)).toEqual([id])
    expect(
      (await api.http.ask('DELETE', `/image/v2/images/${id}`, { token: api.demo })).status,
    ).toBe(403)
    expect((await api.upload(api.demo, id, 'x')).status).toBe(403)
  })

  test('sees community images only when it asks for them', async () => {
    const id = await api.create(api.admin, { visibility: 'community' })

    expect(await api.listed(api.demo, `id=${id}`)).toEqual([])
    expect(await api.listed(api.demo, `id=${id}&visibility=community`)).toEqual([id])
  })

  test('cannot be given an image, nor the public one, by a user', async () => {
    const draft = (more: object) => ({ token: api.demo, body: { name: 'x', ...more } })

    const foreign = await api.http.ask(
      'POST',
      '/image/v2/images',
      draft({ owner: api.adminProject }),
    )
    const open = await api.http.ask('POST', '/image/v2/images', draft({ visibility: 'public' }))

    expect(foreign.status).toBe(403)
    expect(open.status).toBe(403)
  })
})

describe('a cell', () => {
  const cellId = '6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'
  const internal = async (id: string, ticket: string | undefined) => {
    const url = `http://cloud.test:8774/image/internal/images/${id}/file`
    const headers = new Headers(ticket === undefined ? {} : { 'x-weir-image-ticket': ticket })
    const response = await api.http.app.request(url, { headers })
    return checkedStream({ method: 'GET', url, headers, body: undefined }, response)
  }

  test('reads a private image with a ticket and without a token', async () => {
    const id = await api.active(api.demo, Buffer.from('for a cell'), { visibility: 'private' })
    const other = await api.active(api.demo, Buffer.from('another'))
    const ticket = ticketForCell(api.http.gateway.images, id, cellId)

    expect(await (await internal(id, ticket)).text()).toBe('for a cell')
    expect((await internal(other, ticket)).status).toBe(401)
    expect((await internal(id, undefined)).status).toBe(401)
    expect((await internal(id, `${ticket}x`)).status).toBe(401)
  })
})

describe('a host that saves a server', () => {
  const cellId = '6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'
  const copyId = '7a3f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'

  /** An image that waits for the changes of a server since that copy. */
  async function ordered(): Promise<string> {
    const id = await api.create(api.demo)
    const { db } = api.http.gateway.images
    await db.orm.update(images).set({ changesOf: copyId }).where(eq(images.id, id))
    return id
  }

  async function fill(
    id: string,
    headers: Readonly<Record<string, string>>,
    body: string | ReadableStream<Uint8Array> = 'content',
  ) {
    const { ticketKey, clock } = api.http.gateway.images
    const expiresAtMs = clock.now() + 60_000
    const ticket = issueTicket(ticketKey, { use: 'fill', imageId: id, cellId, expiresAtMs })
    const url = `http://cloud.test:8774/image/internal/images/${id}/file`
    const said = { 'x-weir-image-ticket': ticket, 'x-weir-disk-format': 'raw', ...headers }
    const type = { 'content-type': 'application/octet-stream' }
    const asked = { method: 'PUT', headers: { ...said, ...type }, body, duplex: 'half' as const }
    const response = await api.http.app.request(url, asked)
    return { status: response.status, isFilled: response.headers.get('x-weir-image-filled') }
  }
  const stored = async (id: string) => findImage(api.http.gateway.images.db, id)

  test('says that they are changes, and hears whether the image has them', async () => {
    const id = await ordered()
    const changes = { 'x-weir-changes-of': copyId }

    expect(await fill(id, { 'x-weir-changes-of': id })).toMatchObject({ status: 400 })
    expect(await fill(id, changes)).toEqual({ status: 204, isFilled: 'yes' })
    expect(await fill(id, changes)).toEqual({ status: 204, isFilled: null })

    // A gateway of a former release takes it for no disk of a format that any host knows.
    const whole = { diskFormat: 'raw+changes', changesOf: copyId, isPartOfMove: true }
    expect(await stored(id)).toMatchObject(whole)
    expect((await api.show(api.admin, id)).status).toBe(404)
    expect(await api.listed(api.admin, `id=${id}`)).toEqual([])
  })

  test('fills it at once after an upload that has broken off unseen, which is given up', async () => {
    const id = await api.create(api.demo)
    const stalled = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>()
    const former = fill(id, {}, new ReadableStream({ start: stalled.resolve }))
    const body = await stalled.promise
    body.enqueue(Buffer.from('cont'))
    await expect.poll(async () => (await stored(id))?.status).toBe('saving')

    expect(await fill(id, {})).toEqual({ status: 204, isFilled: 'yes' })
    body.close()

    expect(await former).toMatchObject({ status: 409 })
    expect(await stored(id)).toMatchObject({ status: 'active', content: { sizeBytes: 7 } })
    const again = await api.upload(api.demo, await api.create(api.demo), 'of a user')
    expect(again.status).toBe(204)
  })

  test('may save the whole disk instead, which its owner then sees', async () => {
    const id = await ordered()

    expect(await fill(id, {})).toEqual({ status: 204, isFilled: 'yes' })

    const whole = { diskFormat: 'raw', changesOf: null, isPartOfMove: false }
    expect(await stored(id)).toMatchObject(whole)
    expect((await api.show(api.demo, id)).status).toBe(200)
  })
})

describe('a boot', () => {
  const flavor = { memoryMb: 128, rootGb: 1 }
  const boot = (id: string, wanted = flavor) =>
    imageForBoot(
      api.http.gateway.images,
      { projectId: api.demoProject, isAdmin: false },
      id,
      wanted,
    )

  test('gets an active image as the wire describes it', async () => {
    const content = randomBytes(100)
    const id = await api.active(api.demo, content, { hw_machine_type: 'q35' })

    expect(await boot(id)).toEqual({
      id,
      name: 'tiny',
      diskFormat: 'raw',
      sizeBytes: 100,
      sha256: createHash('sha256').update(content).digest('hex'),
      sha512: createHash('sha512').update(content).digest('hex'),
      minDiskGb: 0,
      minRamMb: 0,
      properties: { hw_machine_type: 'q35' },
    })
  })

  test("is refused in Nova's words", async () => {
    const queued = await api.create(api.demo)
    const foreign = await api.active(api.admin, Buffer.from('x'), { visibility: 'private' })
    const demanding = await api.active(api.demo, Buffer.from('y'), { min_ram: 512, min_disk: 0 })
    const large = await api.active(api.demo, Buffer.from('z'), { min_disk: 5 })

    await expect(boot(queued)).rejects.toThrow(`Image ${queued} is not active.`)
    await expect(boot(foreign)).rejects.toThrow('Can not find requested image')
    await expect(boot('nonsense')).rejects.toThrow('Can not find requested image')
    await expect(boot(demanding)).rejects.toThrow("Flavor's memory is too small")
    await expect(boot(large)).rejects.toThrow('minimum size is 5368709120 bytes')
    await expect(boot(large, { memoryMb: 128, rootGb: 0 })).resolves.toMatchObject({ id: large })
  })
})
