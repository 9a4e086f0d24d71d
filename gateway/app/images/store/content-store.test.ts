import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { S3_KINDS, type S3Kind, startS3 } from '#test/env/s3/start-s3.ts'
import { S3Client } from '../../../s3/s3-client.ts'
import type { ContentStore, Incoming } from './content-store.ts'
import { DirectoryStore } from './directory-store.ts'
import { MovingStore } from './moving-store.ts'
import { S3Store } from './s3-store.ts'

// Goal: both stores keep the same promises.

const MIB = 1024 * 1024
/** The small one copies whole objects only; others take no part below 5 MiB. */
const SIZES = {
  s3rver: { partBytes: 64 * 1024, copyMaxBytes: 1024 * MIB },
  ceph: { partBytes: 5 * MIB, copyMaxBytes: 6 * MIB },
  given: { partBytes: 5 * MIB, copyMaxBytes: 6 * MIB },
} as const
const CHUNK_BYTES = 10_000
const PART_BYTES = SIZES[S3_KINDS.at(-1) ?? 's3rver'].partBytes
const owned = new AsyncDisposableStack()
const past = () => new Date(0)
const future = () => new Date(Date.now() + 3_600_000)

const sha256Of = (content: Buffer) => createHash('sha256').update(content).digest('hex')

async function directoryStore(): Promise<ContentStore> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-store-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  return DirectoryStore.open(directory)
}

async function s3Store(kind: S3Kind): Promise<ContentStore> {
  const s3 = owned.use(await startS3('region-one/', kind))
  return owned.use(new S3Store(new S3Client(s3.settings), SIZES[kind]))
}

async function written(store: ContentStore, content: Buffer): Promise<Incoming> {
  const incoming = await store.receive()
  for (let at = 0; at < content.length; at += CHUNK_BYTES)
    await incoming.write(content.subarray(at, at + CHUNK_BYTES))
  return incoming
}

async function stored(store: ContentStore, content: Buffer): Promise<string> {
  const sha256 = sha256Of(content)
  await using incoming = await written(store, content)
  await incoming.flush(sha256)
  await incoming.keep(sha256)
  return sha256
}

async function bytesOf(
  store: ContentStore,
  sha256: string,
  ...part: Parameters<ContentStore['read']>[1][]
): Promise<Buffer> {
  const { stream } = await store.read(sha256, ...part)
  return buffer(stream)
}

async function digests(store: ContentStore, olderThan: Date): Promise<readonly string[]> {
  return all(store.stored(olderThan))
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

afterAll(() => owned.disposeAsync())

const STORES: readonly (readonly [string, () => Promise<ContentStore>])[] = [
  ['a directory', directoryStore],
  [
    'a directory that becomes an S3',
    async () => owned.use(new MovingStore(await directoryStore(), await s3Store('s3rver'))),
  ],
  ...S3_KINDS.map((kind) => [`an S3 (${kind})`, () => s3Store(kind)] as const),
]

describe.each(STORES)('%s', (_, open) => {
  let store: ContentStore
  const opened = async () => (store ??= await open())
  const [small, large] = [randomBytes(30_000), randomBytes(2.5 * PART_BYTES)]

  test.each([
    ['of no bytes', Buffer.alloc(0)],
    ['in one part', small],
    ['of just one part', randomBytes(PART_BYTES)],
    ['in several parts', large],
  ])('gives back a content %s, whole and in ranges', async (_name, content) => {
    const store = await opened()
    const sha256 = await stored(store, content)

    const { sizeBytes, stream } = await store.read(sha256)
    await stream.cancel()
    expect(sizeBytes).toBe(content.length)
    expect((await bytesOf(store, sha256)).equals(content)).toBe(true)
    const { head, tail, ...sample } = await store.sample(sha256)
    expect(sample.sizeBytes).toBe(content.length)
    expect(content.subarray(0, head.length).equals(head)).toBe(true)
    expect(content.subarray(content.length - tail.length).equals(tail)).toBe(true)
    if (content.length === 0) return
    const part = { first: 7, last: content.length - 3 }
    expect((await bytesOf(store, sha256, part)).equals(content.subarray(7, -2))).toBe(true)
    const front = await bytesOf(store, sha256, { first: 0, last: 1 })
    expect(front.equals(content.subarray(0, 2))).toBe(true)
  })

  test.each([
    ['small', small],
    ['large', large],
  ])('keeps nothing of a %s upload that breaks off', async (_size, content) => {
    const store = await opened()
    const before = await digests(store, future())

    await (await written(store, content))[Symbol.asyncDispose]()

    expect(await digests(store, future())).toEqual(before)
    expect(await store.removeAbandoned(future())).toBe(0)
  })

  test('keeps the same bytes once, however many send them at the same time', async () => {
    const store = await opened()
    const content = randomBytes(1.5 * PART_BYTES)

    const sha256s = await Promise.all(Array.from({ length: 4 }, () => stored(store, content)))

    const [sha256 = ''] = sha256s
    expect((await bytesOf(store, sha256)).equals(content)).toBe(true)
    expect((await digests(store, future())).filter((each) => each === sha256)).toHaveLength(1)
    expect(await store.removeAbandoned(future())).toBe(0)
  })

  test('keeps a content that was removed between its flush and its row', async () => {
    const store = await opened()
    for (const content of [randomBytes(1_000), randomBytes(1.5 * PART_BYTES)]) {
      const sha256 = sha256Of(content)
      await using incoming = await written(store, content)
      await incoming.flush(sha256)
      await store.remove(sha256)
      await incoming.keep(sha256)
      await incoming.keep(sha256)

      expect((await bytesOf(store, sha256)).equals(content)).toBe(true)
    }
  })

  test('has a content no more once it is removed', async () => {
    const store = await opened()
    const sha256 = await stored(store, randomBytes(100))

    await store.remove(sha256)
    await store.remove(sha256)

    await expect(store.read(sha256)).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(store.read(sha256, { first: 0, last: 1 })).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await expect(store.sample(sha256)).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('lists contents by their age', async () => {
    const store = await opened()
    const sha256 = await stored(store, randomBytes(100))

    expect(await digests(store, past())).toEqual([])
    expect(await digests(store, future())).toContain(sha256)
  })

  test('forgets uploads of dead processes once they are old', async () => {
    const store = await opened()
    const kept = await stored(store, large)
    // Not disposed, as in a process that was killed.
    const whole = await written(store, randomBytes(1.5 * PART_BYTES))
    await whole.flush(sha256Of(randomBytes(1)))
    const half = await written(store, randomBytes(1.5 * PART_BYTES))

    expect(await store.removeAbandoned(past())).toBe(0)
    expect(await store.removeAbandoned(future())).toBe(2)
    expect(await store.removeAbandoned(future())).toBe(0)
    expect((await bytesOf(store, kept)).equals(large)).toBe(true)
    for (const each of [whole, half]) await each[Symbol.asyncDispose]()
  })

  test('lets a reader go in the middle', async () => {
    const store = await opened()
    const sha256 = await stored(store, large)
    const { stream } = await store.read(sha256)
    const reader = stream.getReader()

    expect((await reader.read()).done).toBe(false)
    await reader.cancel()
  })
})
