import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { collectImages } from '#gateway/app/images/collect-content.ts'
import { ticketForCell } from '#gateway/app/images/image-for-boot.ts'
import { checkedStream } from '../env/api/check-response.ts'
import { S3_KINDS, s3Env, startS3, type TestS3 } from '../env/s3/start-s3.ts'
import { type ImageApi, imageApi } from './image-api.ts'

// Goal: gateways that share an S3 serve each other's images, and report it when the S3 is unreachable.

const CELL_ID = '6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e'
/** A Ceph takes its time. */
const START_MS = 120_000

describe.each(S3_KINDS)('images in an S3 (%s)', (kind) => {
  let s3: TestS3
  let one: ImageApi
  let two: ImageApi

  beforeAll(async () => {
    s3 = await startS3('weir/', kind)
    one = await imageApi(s3Env(s3))
    two = await one.atAnother({ ...s3Env(s3), GATEWAY_IMAGES_S3_DIRECT: 'true' })
  }, START_MS)

  afterAll(async () => {
    await one?.[Symbol.asyncDispose]()
    await s3?.[Symbol.asyncDispose]()
  })

  beforeEach(() => s3.front.heal())

  async function internal(api: ImageApi, id: string, more: Readonly<Record<string, string>>) {
    const url = `http://cloud.test:8774/image/internal/images/${id}/file`
    const ticket = ticketForCell(api.http.gateway.images, id, CELL_ID)
    const headers = new Headers({ 'x-weir-image-ticket': ticket, ...more })
    const response = await api.http.app.request(url, { headers })
    return checkedStream({ method: 'GET', url, headers, body: undefined }, response)
  }

  const contents = async () => {
    const found: string[] = []
    const { store } = one.http.gateway.images
    for await (const each of store.stored(new Date(Date.now() + 3_600_000))) found.push(each)
    return found
  }

  test('an image uploaded at one gateway is read at another, whole and in ranges', async () => {
    const content = randomBytes(100_000)
    const id = await one.active(one.demo, content)

    const whole = await two.download(two.demo, id)
    expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true)
    const part = await two.download(two.demo, id, { range: 'bytes=10-19' })
    expect(part.status).toBe(206)
    expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(10, 20))).toBe(true)
  })

  test('images of the same bytes share them, and the last one takes them along', async () => {
    const before = await contents()
    const content = randomBytes(1_000)
    const ids = await Promise.all([one, two].map((api) => api.active(api.demo, content)))
    const remove = (id: string) =>
      one.http.ask('DELETE', `/image/v2/images/${id}`, { token: one.demo })

    expect(await contents()).toHaveLength(before.length + 1)
    expect((await remove(ids[0] ?? '')).status).toBe(204)
    expect((await two.download(two.demo, ids[1] ?? '')).status).toBe(200)
    expect((await remove(ids[1] ?? '')).status).toBe(204)
    await collectImages(one.http.gateway.images, AbortSignal.timeout(30_000))
    expect(await contents()).toEqual(before)
  })

  test('a host reads a range with its ticket, and is sent to the S3 where that is allowed', async () => {
    const content = randomBytes(5_000)
    const id = await one.active(one.demo, content)
    const direct = { 'x-weir-image-direct': 'yes' }

    const part = await internal(one, id, { range: 'bytes=4000-' })
    expect(part.status).toBe(206)
    expect(part.headers.get('content-range')).toBe('bytes 4000-4999/5000')
    expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(4000))).toBe(true)
    expect((await internal(one, id, { range: 'bytes=5000-' })).status).toBe(416)
    expect((await internal(one, id, direct)).status).toBe(200)
    expect((await internal(two, id, {})).status).toBe(200)

    const sent = await internal(two, id, direct)
    expect(sent.status).toBe(307)
    const found = await fetch(sent.headers.get('location') ?? '')
    expect(Buffer.from(await found.arrayBuffer()).equals(content)).toBe(true)
  })

  test('an upload whose quota is used up leaves nothing in the S3', async () => {
    const before = await contents()
    await using small = await imageApi({ ...s3Env(s3), GATEWAY_IMAGE_PROJECT_BYTES_MAX: '10' })
    const id = await small.create(small.demo)

    expect((await small.upload(small.demo, id, randomBytes(100))).status).toBe(413)
    expect(await contents()).toEqual(before)
  })

  test('while the S3 does not answer, uploads and downloads do so with 503, and work again afterwards', async () => {
    const content = randomBytes(1_000)
    const [kept, waiting] = [await one.active(one.demo, content), await one.create(one.demo)]
    s3.front.fail(() => ({ do: 'answer', status: 503, code: 'ServiceUnavailable' }))

    const [upload, download] = await Promise.all([
      one.upload(one.demo, waiting, randomBytes(10)),
      two.download(two.demo, kept),
    ])
    expect([upload.status, download.status]).toEqual([503, 503])
    expect((await one.show(one.demo, waiting)).body['status']).toBe('queued')

    s3.front.heal()
    expect((await one.upload(one.demo, waiting, randomBytes(10))).status).toBe(204)
    expect((await two.download(two.demo, kept)).status).toBe(200)
  })

  test('images of a deployment that had a directory stay readable, and move to the S3', async () => {
    await using former = await imageApi()
    const contents = [randomBytes(1_000), randomBytes(30_000)]
    const [kept, deleted] = [
      await former.active(former.demo, contents[0] ?? Buffer.alloc(0)),
      await former.active(former.demo, contents[1] ?? Buffer.alloc(0)),
    ]
    const api = await former.atAnother({ ...s3Env(s3), GATEWAY_IMAGES_S3_DIRECT: 'true' })
    const read = async (id: string) =>
      Buffer.from(await (await api.download(api.demo, id)).arrayBuffer())
    const direct = { 'x-weir-image-direct': 'yes' }

    expect((await read(kept)).equals(contents[0] ?? Buffer.alloc(0))).toBe(true)
    await api.http.ask('DELETE', `/image/v2/images/${deleted}`, { token: api.demo })
    await collectImages(api.http.gateway.images, AbortSignal.timeout(30_000))

    await expect.poll(() => former.storedFiles()).toEqual([])
    expect((await read(kept)).equals(contents[0] ?? Buffer.alloc(0))).toBe(true)
    expect((await internal(api, kept, direct)).status).toBe(307)
  })

  test('the metrics count requests to the S3', async () => {
    const { registry } = one.http.gateway.metrics

    expect(await registry.metrics()).toMatch(
      /weir_image_store_requests_total\{operation="put",outcome="ok"\} [1-9]/,
    )
  })
})
