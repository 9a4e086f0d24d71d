import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startS3 } from '#test/env/s3/start-s3.ts'
import { S3Client } from '../../../s3/s3-client.ts'
import type { ContentStore } from './content-store.ts'
import { DirectoryStore } from './directory-store.ts'
import { MovingStore } from './moving-store.ts'
import { S3Store } from './s3-store.ts'

const SIZES = { partBytes: 64 * 1024, copyMaxBytes: 1024 ** 3 }
const future = () => new Date(Date.now() + 3_600_000)
const signal = () => AbortSignal.timeout(30_000)

async function put(store: ContentStore, content: Buffer): Promise<string> {
  const sha256 = createHash('sha256').update(content).digest('hex')
  await using incoming = await store.receive()
  await incoming.write(content)
  await incoming.flush(sha256)
  await incoming.keep(sha256)
  return sha256
}

const read = async (store: ContentStore, sha256: string) =>
  buffer((await store.read(sha256)).stream)

test('contents of the former store are read there until they are moved, and a damaged one stays', async () => {
  await using owned = new AsyncDisposableStack()
  const s3 = owned.use(await startS3())
  const directory = mkdtempSync(join(tmpdir(), 'weir-moving-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const from = await DirectoryStore.open(directory)
  const to = new S3Store(new S3Client(s3.settings), SIZES)
  const store = owned.use(new MovingStore(from, to))
  const contents = [randomBytes(1_000), randomBytes(200_000)]
  const [small, large] = [
    await put(from, contents[0] ?? Buffer.alloc(0)),
    await put(from, contents[1] ?? Buffer.alloc(0)),
  ]
  const damaged = '0'.repeat(64)
  await writeFile(join(directory, 'contents', damaged), 'not at all')

  expect(await read(store, large)).toEqual(contents[1])
  expect(await store.directUrl(large, 60)).toBeUndefined()
  expect(await store.settle(new Date(0), signal())).toBe(0)
  await expect(store.settle(future(), signal())).rejects.toMatchObject({
    detail: `the file ${damaged} has another digest`,
  })

  expect(await readdir(join(directory, 'contents'))).toEqual([damaged])
  expect([await read(to, small), await read(to, large)]).toEqual(contents)
  expect(await read(store, large)).toEqual(contents[1])
  expect(await store.directUrl(large, 60)).toContain(large)
  expect(await store.removeAbandoned(future())).toBe(0)
})

test('while the new store does not answer, contents stay where they are', async () => {
  await using owned = new AsyncDisposableStack()
  const s3 = owned.use(await startS3())
  const directory = mkdtempSync(join(tmpdir(), 'weir-moving-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const from = await DirectoryStore.open(directory)
  const client = new S3Client(s3.settings, { clock: { sleep: async () => undefined } })
  const store = owned.use(new MovingStore(from, new S3Store(client, SIZES)))
  const content = randomBytes(1_000)
  const sha256 = await put(from, content)
  s3.front.fail(() => ({ do: 'answer', status: 503, code: 'SlowDown' }))

  await expect(store.settle(future(), signal())).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await read(store, sha256)).toEqual(content)

  s3.front.heal()
  expect(await store.settle(future(), signal())).toBe(1)
  expect(await read(store, sha256)).toEqual(content)
})
