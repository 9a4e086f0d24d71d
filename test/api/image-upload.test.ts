import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collectImages } from '#gateway/app/images/collect-content.ts'
import { images as imageTable } from '#gateway/db/schema/image.ts'
import { type ImageApi, imageApi, SIZE_MAX } from './image-api.ts'

let api: ImageApi

beforeAll(async () => {
  api = await imageApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

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

test('an empty image id, as after a slash behind the list, is not found', async () => {
  const ask = (path: string) => api.http.ask('GET', path, { token: api.demo })

  expect((await ask('/image/v2/images/')).status).toBe(404)
  expect((await ask('/image/v2/images')).status).toBe(200)
})

test('where formats are not checked, a content may be of another, but not a harmful one', async () => {
  await using loose = await imageApi({ GATEWAY_IMAGE_FORMATS_UNCHECKED: 'true' })
  const upload = async (format: string, content: Buffer | string) => {
    const id = await loose.create(loose.demo, { disk_format: format })
    const { status } = await loose.upload(loose.demo, id, content)
    return [status, (await loose.show(loose.demo, id)).body['status']]
  }

  expect(await upload('qcow2', 'not at all')).toEqual([204, 'active'])
  expect(await upload('vhd', randomBytes(200_000))).toEqual([204, 'active'])
  for (const format of ['raw', 'qcow2'])
    expect(await upload(format, qcow2WithBackingFile())).toEqual([400, 'queued'])
})

describe('an upload', () => {
  async function refused(id: string, reply: Response, status: number, text: string): Promise<void> {
    expect(reply.status).toBe(status)
    expect(await reply.text()).toContain(text)
    expect((await api.show(api.demo, id)).body).toMatchObject({
      status: 'queued',
      size: null,
      checksum: null,
    })
  }

  test('that is not in its declared format leaves nothing behind, and can be repeated', async () => {
    const before = await api.storedFiles()
    const id = await api.create(api.demo, { disk_format: 'qcow2' })

    await refused(
      id,
      await api.upload(api.demo, id, randomBytes(5000)),
      400,
      'not an acceptable qcow2 image',
    )
    await refused(id, await api.upload(api.demo, id, qcow2WithBackingFile()), 400, 'backing file')

    expect(await api.storedFiles()).toEqual(before)
  })

  test('above the size limit is refused, declared or not', async () => {
    const before = await api.storedFiles()
    const id = await api.create(api.demo)
    const declared = { 'content-length': String(SIZE_MAX + 1) }

    await refused(id, await api.upload(api.demo, id, 'x', declared), 413, 'size limit')
    await refused(id, await api.upload(api.demo, id, Buffer.alloc(SIZE_MAX + 1)), 413, 'size limit')

    expect(await api.storedFiles()).toEqual(before)
  })

  test('that breaks off leaves the image queued', async () => {
    const before = await api.storedFiles()
    const id = await api.create(api.demo)
    let sent = 0
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1
        if (sent < 3) controller.enqueue(new Uint8Array(1000))
        else controller.error(new Error('the client went away'))
      },
    })

    const reply = await api.upload(api.demo, id, broken)

    expect(reply.status).toBe(400)
    expect((await api.show(api.demo, id)).body['status']).toBe('queued')
    expect(await api.storedFiles()).toEqual(before)
  })

  test('happens once: a second one is a conflict', async () => {
    const id = await api.active(api.demo, Buffer.from('first'))

    const reply = await api.upload(api.demo, id, 'second')

    expect(reply.status).toBe(409)
  })

  test('beyond those that a gateway takes of a project is refused for now, and nobody else', async () => {
    await using small = await imageApi({ GATEWAY_IMAGE_PROJECT_UPLOADS_MAX: '1' })
    const [slow, next, other] = [
      await small.create(small.demo),
      await small.create(small.demo),
      await small.create(small.admin),
    ]
    const sent = Promise.withResolvers<void>()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await sent.promise
        controller.close()
      },
    })
    const upload = small.upload(small.demo, slow, body)
    await expect
      .poll(async () => (await small.show(small.demo, slow)).body['status'])
      .toBe('saving')

    const refused = await small.upload(small.demo, next, 'x')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await refused.text()).toContain('takes 1 uploads of this project')
    expect((await small.show(small.demo, next)).body['status']).toBe('queued')
    expect((await small.upload(small.admin, other, 'x')).status).toBe(204)

    sent.resolve()
    expect((await upload).status).toBe(204)
    expect((await small.upload(small.demo, next, 'x')).status).toBe(204)
  })

  test('at the same time as another of the same image is done by one of them', async () => {
    const id = await api.create(api.demo)

    const replies = await Promise.all(
      ['one', 'two', 'three'].map((text) => api.upload(api.demo, id, text)),
    )

    expect(replies.map((reply) => reply.status).sort((a, b) => a - b)).toEqual([204, 409, 409])
    expect((await api.show(api.demo, id)).body['status']).toBe('active')
  })

  test('needs formats, and bytes declared as such', async () => {
    const bare = await api.create(api.demo, { disk_format: null })
    const id = await api.create(api.demo)

    expect((await api.upload(api.demo, bare, 'x')).status).toBe(400)
    expect(
      (await api.upload(api.demo, id, '{}', { 'content-type': 'application/json' })).status,
    ).toBe(415)
  })

  test('of a process that died is taken over when its lease is over', async () => {
    const id = await api.create(api.demo)
    const { db } = api.http.gateway
    await db.orm.execute(
      `update images set status = 'saving', upload_id = '${id}', upload_expires_at = '2020-01-01' where id = '${id}'`,
    )

    const report = await collectImages(api.http.gateway.images, AbortSignal.timeout(10_000))

    expect(report.uploadsAbandoned).toBe(1)
    expect((await api.show(api.demo, id)).body['status']).toBe('queued')
    const rows = await db.orm.select({ upload: imageTable.uploadId }).from(imageTable)
    expect(rows.every((row) => row.upload === null)).toBe(true)
  })
})
