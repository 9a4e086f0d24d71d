import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { passKey } from '../images/cache-pass.ts'
import { ImageCaches } from '../images/image-caches.ts'
import { openImageCache } from './open-image-cache.ts'
import { ImageGateway } from './testing.ts'

// Goal: what a cache keeps for a server makes room for nothing, until it is let go of, and nothing is kept for ever.

const SECRET = randomBytes(32).toString('hex')
const BYTES_MAX = 2_500
const log = createLogger('test', 'silent')
const SERVER: string = newId()
const OTHER: string = newId()

let owned: AsyncDisposableStack
let gateway: ImageGateway

beforeEach(async () => {
  owned = new AsyncDisposableStack()
  gateway = owned.use(await ImageGateway.open())
})

afterEach(() => owned.disposeAsync())

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'weir-image-cache-'))
  owned.defer(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function cacheIn(directory: string, { bytesMax = BYTES_MAX, port = 0 } = {}) {
  const parts = new AsyncDisposableStack()
  owned.defer(() => parts.disposeAsync())
  const own = { directory, address: '127.0.0.1', port, bytesMax, tls: undefined }
  const imageCache = { own, urls: [], gatewayUrls: [gateway.url] }
  const config = { secretKey: SECRET, processName: 'one', imageCache }
  const { caches } = await openImageCache(parts, config, { clock: systemClock, log })
  if (caches === undefined) throw new Error('There is no cache')
  const [url = ''] = caches.refTo({ id: newId(), sha256: '0'.repeat(64), sizeBytes: 1 }).urls
  return { caches, url, stop: () => parts.disposeAsync(), directory: join(directory, 'one') }
}

const image = (bytes = 1_000) => gateway.add(randomBytes(bytes))
const pinned = async (caches: ImageCaches, server: string, of: ImageFile) =>
  expect.poll(async () => (await caches.pin(server, of)).state).toBe('cached')
const preloaded = async (caches: ImageCaches, of: ImageFile) =>
  expect.poll(async () => (await caches.preload(of)).state).toBe('cached')
const has = async (caches: ImageCaches, of: ImageFile) => (await caches.find(of)).state === 'cached'
const pinsIn = async (directory: string) =>
  (await readdir(directory)).filter((name) => name.includes('.pin-'))

test('a pinned image makes room for no other, until the last server lets go of it', async () => {
  const { caches, directory } = await cacheIn(folder())
  const kept = image()
  await pinned(caches, SERVER, kept)
  await pinned(caches, OTHER, kept)

  for (let nth = 0; nth < 3; nth += 1) await preloaded(caches, image())
  expect(await has(caches, kept)).toBe(true)
  await caches.unpin(SERVER)
  for (let nth = 0; nth < 3; nth += 1) await preloaded(caches, image())
  expect(await has(caches, kept)).toBe(true)

  await caches.unpin(OTHER)
  await caches.unpin(OTHER)
  for (let nth = 0; nth < 3; nth += 1) await preloaded(caches, image())
  expect(await has(caches, kept)).toBe(false)
  expect(await pinsIn(directory)).toEqual([])
})

test('the former image is kept until the next is whole, and then makes room', async () => {
  const { caches, directory } = await cacheIn(folder())
  const [former, next] = [image(), image()]
  await pinned(caches, SERVER, former)
  gateway.waitsAfter = 100
  expect((await caches.pin(SERVER, next)).state).toBe('fetching')
  expect(await pinsIn(directory)).toHaveLength(2)

  gateway.release()
  await pinned(caches, SERVER, next)
  expect(await pinsIn(directory)).toEqual([`${next.sha256}.pin-${SERVER}`])
  for (let nth = 0; nth < 3; nth += 1) await preloaded(caches, image())
  expect([await has(caches, former), await has(caches, next)]).toEqual([false, true])
})

test('an image for which pinned ones leave no room is refused with the reason', async () => {
  const { caches } = await cacheIn(folder())
  await pinned(caches, SERVER, image(2_000))

  const late = image()
  await expect
    .poll(() => caches.pin(OTHER, late).catch((error: Error) => error.message))
    .toBe(`The image cache of 2500 bytes has no room for the 1000 bytes of image ${late.id}.`)
})

test('pins outlast the process; a cache that was made too small for them lets go of all', async () => {
  const place = folder()
  const first = await cacheIn(place)
  const kept = image()
  await pinned(first.caches, SERVER, kept)
  await first.stop()

  const second = await cacheIn(place)
  for (let nth = 0; nth < 3; nth += 1) await preloaded(second.caches, image())
  expect(await has(second.caches, kept)).toBe(true)
  await second.stop()

  const third = await cacheIn(place, { bytesMax: 500 })
  expect(await readdir(third.directory)).toEqual([])
})

test('of two caches the one in which hosts look first keeps it, the other while that is away', async () => {
  const places = [folder(), folder()]
  const [one, two] = [await cacheIn(places[0]!), await cacheIn(places[1]!)]
  const all = owned.use(new ImageCaches([one.url, two.url], passKey(SECRET), systemClock))
  const kept = image()
  await pinned(all, SERVER, kept)
  const atOne = (await pinsIn(one.directory)).length === 1
  const [first, second] = atOne ? [one, two] : [two, one]
  expect(await pinsIn(second.directory)).toEqual([])

  await first.stop()
  await pinned(all, SERVER, kept)
  expect(await pinsIn(second.directory)).toHaveLength(1)
  await expect(all.unpin(SERVER)).rejects.toMatchObject({ kind: 'unavailable' })
  await pinned(all, SERVER, kept)

  const port = Number(new URL(first.url).port)
  await cacheIn(atOne ? places[0]! : places[1]!, { port })
  await pinned(all, SERVER, kept)
  expect(await pinsIn(second.directory)).toEqual([])
  await all.unpin(SERVER)
  expect(await pinsIn(first.directory)).toEqual([])
})

test('a pass for an image is none for pins, nor one for the pins of another server', async () => {
  const { caches, url, directory } = await cacheIn(folder())
  const kept = image()
  await pinned(caches, SERVER, kept)
  const headers = { 'x-weir-cache-pass': caches.refTo(kept).pass }
  const path = `${url}/v1/pins/${OTHER}`

  const answers = [
    await fetch(`${url}/v1/pins/${SERVER}`, { method: 'DELETE', headers }),
    await fetch(`${path}/${kept.id}/${kept.sha256}/1000`, { method: 'PUT', headers }),
    await fetch(path, { method: 'DELETE' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
  expect(await pinsIn(directory)).toHaveLength(1)
})
