import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import pLimit from 'p-limit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { S3Front, S3Seen } from '#test/env/s3/s3-front.ts'
import { startS3, type TestS3 } from '#test/env/s3/start-s3.ts'
import { S3Client } from '../../../s3/s3-client.ts'
import { S3Store } from './s3-store.ts'

// Goal: an S3 that fails makes no content wrong or half there, and what may pass is tried again.

const SIZES = { partBytes: 64 * 1024, copyMaxBytes: 1024 ** 3 }
const atOnce = { sleep: async () => undefined }
const future = () => new Date(Date.now() + 3_600_000)
const outcomes: string[] = []
let s3: TestS3
let front: S3Front
let store: S3Store

beforeAll(async () => {
  s3 = await startS3()
  front = s3.front
  store = storeOf()
})

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

afterAll(async () => {
  await store?.[Symbol.asyncDispose]()
  await s3?.[Symbol.asyncDispose]()
})

beforeEach(() => {
  front.heal()
  outcomes.length = 0
})

function storeOf(settings = s3.settings): S3Store {
  const client = new S3Client(settings, {
    clock: atOnce,
    responseTimeoutMs: 300,
    slowMaxMs: 300,
    observe: (operation, outcome) => outcomes.push(`${operation} ${outcome}`),
  })
  return new S3Store(client, SIZES)
}

async function put(content: Buffer): Promise<string> {
  const sha256 = createHash('sha256').update(content).digest('hex')
  await using incoming = await store.receive()
  await incoming.write(content)
  await incoming.flush(sha256)
  await incoming.keep(sha256)
  return sha256
}

const read = async (sha256: string) => buffer((await store.read(sha256)).stream)
const answered = (status: number, code: string) => ({ do: 'answer', status, code }) as const
const slowDown = answered(503, 'SlowDown')

const requests: readonly [string, (seen: S3Seen) => boolean][] = [
  ['a part', ({ method, url }) => method === 'PUT' && url.includes('partNumber=2')],
  ['the end of an upload', ({ method, url }) => method === 'POST' && url.includes('uploadId=')],
  ['the copy to the digest', ({ method, url }) => method === 'PUT' && url.includes('/contents/')],
]

describe.each(requests)('where %s fails', (_, isMeant) => {
  test.each([
    ['is refused for the moment', slowDown],
    ['fails', answered(500, 'InternalError')],
    ['is lost', { do: 'hang' } as const],
    ['is done without an answer', { do: 'lose' } as const],
  ])('and %s, the upload succeeds', async (_how, fault) => {
    const content = randomBytes(200_000)
    front.failOnce(fault, isMeant)

    expect((await read(await put(content))).equals(content)).toBe(true)
  })

  test('for good, the upload fails as unavailable and leaves nothing', async () => {
    const content = randomBytes(200_000)
    const sha256 = createHash('sha256').update(content).digest('hex')
    front.fail((seen) => (isMeant(seen) ? slowDown : undefined))

    await expect(put(content)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The image store cannot be used right now.',
      detail: expect.stringContaining('503 SlowDown'),
    })

    front.heal()
    expect(await store.removeAbandoned(future())).toBe(0)
    expect(await all(store.stored(future()))).not.toContain(sha256)
  })
})

test('a body that was changed on its way is refused and sent again', async () => {
  const content = randomBytes(200_000)
  front.failOnce({ do: 'change' }, ({ url }) => url.includes('partNumber=1'))

  expect((await read(await put(content))).equals(content)).toBe(true)

  front.fail(() => ({ do: 'change' }))
  await expect(put(randomBytes(100))).rejects.toMatchObject({
    kind: 'unavailable',
    detail: expect.stringContaining('XAmzContentSHA256Mismatch'),
  })
})

test.each([
  ['its quota is used up', answered(403, 'QuotaExceeded')],
  ['it is full', answered(507, 'InsufficientStorage')],
])('where %s, an upload is refused at once, for want of room', async (_, fault) => {
  front.fail(({ method }) => (method === 'PUT' ? fault : undefined))

  await expect(put(randomBytes(100))).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The image store has no room left.',
  })
  expect(outcomes.filter((each) => each.startsWith('put'))).toEqual(['put failed'])
})

test('wrong credentials are refused once, and the reason is for operators', async () => {
  const before = front.seen.length
  front.fail(() => answered(403, 'SignatureDoesNotMatch'))

  await expect(store.read('0'.repeat(64))).rejects.toMatchObject({
    kind: 'unavailable',
    detail: expect.stringContaining('403 SignatureDoesNotMatch'),
  })
  expect(front.seen).toHaveLength(before + 1)
})

test('an S3 that is not there is unavailable', async () => {
  await using other = storeOf({ ...s3.settings, endpoint: 'http://127.0.0.1:1' })

  await expect(other.read('0'.repeat(64))).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(other.removeAbandoned(future())).rejects.toMatchObject({ kind: 'unavailable' })
})

test('a download that breaks off continues where it was', async () => {
  const content = randomBytes(300_000)
  const sha256 = await put(content)
  front.failOnce({ do: 'break', afterBytes: 100_000 })

  expect((await read(sha256)).equals(content)).toBe(true)

  front.fail(() => ({ do: 'break', afterBytes: 0 }))
  await expect(read(sha256)).rejects.toThrow()
})

test('anyone who has a direct URL reads the content, without a key', async () => {
  const content = randomBytes(1_000)
  const sha256 = await put(content)

  const url = (await store.directUrl(sha256, 60)) ?? ''

  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true)
  expect((await fetch(url.replace(sha256, '0'.repeat(64)))).ok).toBe(false)
  await using closed = storeOf({ ...s3.settings, isDirect: false })
  expect(await closed.directUrl(sha256, 60)).toBeUndefined()
})

test('a list of more than one page is read whole', async () => {
  await using other = await startS3()
  const client = new S3Client(other.settings)
  await using many = new S3Store(client, SIZES)
  const limit = pLimit(16)
  const names = Array.from({ length: 1_001 }, (_, nth) => nth.toString(16).padStart(64, '0'))
  await limit.map(names, (name) =>
    client.ask({ operation: 'put', method: 'PUT', key: `contents/${name}`, body: Buffer.of(1) }),
  )

  expect(await all(many.stored(future()))).toEqual(names)
})
