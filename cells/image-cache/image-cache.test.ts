import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { CertificateFiles } from '#common/tls/certificate.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { ImageCache } from '#drivers/image-cache.ts'
import { passKey } from '../images/cache-pass.ts'
import { ImageCaches } from '../images/image-caches.ts'
import { ImageClient } from '../images/image-client.ts'
import { openImageCache } from './open-image-cache.ts'
import { ImageGateway } from './testing.ts'

// Goal: each image crosses the link to a cell once, and no failure of a cache keeps a host from its image.

const SECRET = randomBytes(32).toString('hex')
const ANY_PORT = { address: '127.0.0.1', port: 0, tls: undefined }
const MIB = 2 ** 20
const log = createLogger('test', 'silent')

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

interface Made {
  readonly caches: ImageCaches
  readonly registry: Registry
  readonly directory: string
  /** Its address. */
  readonly url: string
  readonly stop: () => Promise<void>
}

/** The cache of a process of the cell. */
async function cellCache(
  bytesMax = 100 * MIB,
  clock: Clock = systemClock,
  tls?: CertificateFiles,
): Promise<Made> {
  const parts = new AsyncDisposableStack()
  owned.defer(() => parts.disposeAsync())
  const directory = folder()
  const own = { directory, ...ANY_PORT, bytesMax, tls }
  const imageCache = { own, urls: [], gatewayUrls: [gateway.url] }
  const config = { secretKey: SECRET, processName: 'one', imageCache }
  const registry = new Registry()
  const { caches } = await openImageCache(parts, config, { clock, log, registry })
  if (caches === undefined) throw new Error('There is no cache')
  const [url = ''] = caches.refTo({ id: newId(), sha256: '0'.repeat(64), sizeBytes: 1 }).urls
  const stop = () => parts.disposeAsync()
  return { caches, directory: join(directory, 'one'), url, registry, stop }
}

/** A host: its own copy of the image, read at the cell's caches and the gateway. */
async function host(): Promise<(image: ImageFile) => Promise<Buffer>> {
  const client = owned.use(new ImageClient([gateway.url]))
  const files = new ImageCache(folder(), client)
  await files.prepare()
  return async (image) => readFile(await files.path(image, AbortSignal.timeout(30_000)))
}

const hosts = (count: number) => Promise.all(Array.from({ length: count }, host))
const at = (caches: ImageCaches, image: ImageFile) => ({ ...image, cache: caches.refTo(image) })

async function metric(registry: Registry, line: string): Promise<number> {
  const text = await registry.metrics()
  const found = text.split('\n').find((each) => each.startsWith(`${line} `))
  return Number(found?.split(' ').at(-1) ?? 0)
}

test('many hosts that boot one image at once have it cross the link once', async () => {
  const { caches, registry } = await cellCache()
  const content = randomBytes(5 * MIB)
  const image = gateway.add(content)

  const read = await Promise.all((await hosts(8)).map((each) => each(at(caches, image))))

  expect(read.every((bytes) => bytes.equals(content))).toBe(true)
  expect(gateway.sentBytes).toBe(content.length)
  expect(await metric(registry, 'weir_image_cache_bytes_total{direction="fetched"}')).toBe(5 * MIB)
  expect(await metric(registry, 'weir_image_cache_bytes_total{direction="served"}')).toBe(40 * MIB)
  expect(await metric(registry, 'weir_image_cache_requests_total{outcome="served"}')).toBe(8)
  expect(await metric(registry, 'weir_image_cache_used_bytes')).toBe(5 * MIB)
})

test('with a certificate a cache serves hosts that trust it, and no others, which read at the gateway', async () => {
  const files = { certificateFile: join(folder(), 'crt'), keyFile: join(folder(), 'key') }
  const names = ['-subj', '/CN=cache', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1']
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', ...names]
  const out = ['-keyout', files.keyFile, '-out', files.certificateFile]
  execFileSync('openssl', ['req', '-x509', '-nodes', ...made, ...out], { stdio: 'ignore' })
  const { caches, url } = await cellCache(MIB, systemClock, files)
  const image = at(caches, gateway.add(randomBytes(1_000)))
  const [trusting, other] = await hosts(2)
  expect(url).toMatch(/^https:/)

  await other?.(image)
  expect(gateway.requests).toBe(1)
  const before = getCACertificates()
  owned.defer(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, await readFile(files.certificateFile, 'utf8')])
  await trusting?.(image)
  expect((await caches.preload(image)).state).toBe('cached')
  expect(gateway.requests).toBe(2)
})

test('of two caches of a cell one has the image, whichever hosts ask', async () => {
  const [one, two] = [await cellCache(), await cellCache()]
  const all = new ImageCaches([one.url, two.url], passKey(SECRET), systemClock)
  owned.use(all)
  const images = Array.from({ length: 8 }, () => gateway.add(randomBytes(1_000)))
  const read = await hosts(3)

  for (const image of images) await Promise.all(read.map((each) => each(at(all, image))))

  expect(gateway.sentBytes).toBe(8_000)
  const kept = [...(await readdir(one.directory)), ...(await readdir(two.directory))]
  expect(kept.toSorted()).toEqual(images.map(({ sha256 }) => sha256).toSorted())
})

test('a host without a valid pass gets nothing from the cache, and reads at the gateway', async () => {
  const { caches, url, registry } = await cellCache()
  const [image, other] = [gateway.add(randomBytes(100)), gateway.add(randomBytes(100))]
  const [read = async () => Buffer.alloc(0)] = await hosts(1)
  const cached = `${url}/v1/images/${image.id}/${image.sha256}/${image.sizeBytes}`
  const past = { ...systemClock, now: () => Date.now() - 7 * 3_600_000 }
  const passes = [
    '',
    caches.refTo(other).pass,
    new ImageCaches([url], passKey(SECRET), past).refTo(image).pass,
    new ImageCaches([url], passKey(randomBytes(32).toString('hex')), systemClock).refTo(image).pass,
  ]

  for (const pass of passes) {
    const answer = await fetch(cached, { headers: { 'x-weir-cache-pass': pass } })
    expect(answer.status).toBe(401)
  }
  expect(gateway.requests).toBe(0)
  await read({ ...image, cache: { urls: [url], pass: 'wrong' } })
  expect(await metric(registry, 'weir_image_cache_requests_total{outcome="refused"}')).toBe(5)
  expect(gateway.sentBytes).toBe(100)
})

test('where the cache is not there, hosts read at the gateway', async () => {
  const { caches, stop } = await cellCache()
  await stop()
  const content = randomBytes(1_000)
  const image = gateway.add(content)

  const read = await Promise.all((await hosts(2)).map((each) => each(at(caches, image))))

  expect(read.every((bytes) => bytes.equals(content))).toBe(true)
  expect(gateway.sentBytes).toBe(2_000)
})

test('a cache that ends while a host waits for its fetch leaves the host the gateway', async () => {
  const { caches, stop, directory } = await cellCache()
  const content = randomBytes(MIB)
  const image = gateway.add(content)
  gateway.waitsAfter = 1_000
  const [read = async () => Buffer.alloc(0)] = await hosts(1)
  const reading = read(at(caches, image))
  await expect.poll(() => readdir(directory)).toHaveLength(1)

  const stopping = stop()
  await expect.poll(() => gateway.requests).toBeGreaterThan(1)
  gateway.release()

  expect((await reading).equals(content)).toBe(true)
  await stopping
  expect(await readdir(directory)).toEqual([])
})

test('the longest unused images make room, and one that does not fit is read at the gateway', async () => {
  const { caches, directory, registry } = await cellCache(2_500)
  const [first, second, third] = [1, 2, 3].map(() => gateway.add(randomBytes(1_000)))
  const huge = gateway.add(randomBytes(3_000))
  const fetched = async (image: ImageFile | undefined) => {
    const [read] = await hosts(1)
    await read?.(at(caches, image ?? huge))
  }

  await fetched(first)
  await fetched(second)
  await fetched(first)
  await fetched(third)

  expect((await readdir(directory)).toSorted()).toEqual(
    [first?.sha256 ?? '', third?.sha256 ?? ''].toSorted(),
  )
  expect(await metric(registry, 'weir_image_cache_used_bytes')).toBe(2_000)
  await fetched(huge)
  expect(await readdir(directory)).toHaveLength(2)
  expect(await metric(registry, 'weir_image_cache_requests_total{outcome="failed"}')).toBe(1)
})

test('a fetch that failed is not begun again at once, and then is', async () => {
  let elapsed = 0
  const clock = { ...systemClock, elapsed: () => elapsed }
  const { caches } = await cellCache(MIB, clock)
  const image = at(caches, gateway.add(randomBytes(100)))
  const [one, two] = await hosts(2)
  gateway.status = 503
  await expect(one?.(image)).rejects.toMatchObject({ kind: 'unavailable' })
  gateway.status = 200
  const before = gateway.requests

  await one?.(image)
  expect(gateway.requests).toBe(before + 1)
  expect(gateway.sentBytes).toBe(100)

  elapsed = 20_000
  await two?.(image)
  expect((await caches.preload(image)).state).toBe('cached')
})

test('an image that the cache has damaged is read at the gateway, and leaves the cache', async () => {
  const { caches, directory } = await cellCache()
  const content = randomBytes(10_000)
  const image = at(caches, gateway.add(content))
  const [one, two, three] = await hosts(3)
  await one?.(image)
  const path = join(directory, image.sha256)
  await writeFile(path, randomBytes(10_000))

  expect((await two?.(image))?.equals(content)).toBe(true)

  expect(await readdir(directory)).toEqual([])
  expect((await three?.(image))?.equals(content)).toBe(true)
  expect(await readFile(path)).toEqual(content)
  // Once for each of the first fetch, the second host and the third.
  expect(gateway.sentBytes).toBe(3 * content.length)
})

test('a preload fetches an image before any host wants it, and says how far it is', async () => {
  const { caches } = await cellCache()
  const content = randomBytes(10_000)
  const image = gateway.add(content)
  gateway.waitsAfter = 1_000

  expect((await caches.preload(image)).state).toBe('fetching')
  await expect.poll(() => caches.preload(image)).toEqual({ state: 'fetching', fetchedBytes: 1_000 })
  gateway.release()
  await expect.poll(() => caches.preload(image)).toEqual({ state: 'cached', fetchedBytes: 10_000 })

  const [read] = await hosts(1)
  expect((await read?.(at(caches, image)))?.equals(content)).toBe(true)
  expect(gateway.sentBytes).toBe(10_000)
})

test('a cache that is started again has its images, and nothing of a broken fetch', async () => {
  const { directory } = await cellCache()
  const content = randomBytes(100)
  const image = gateway.add(content)
  await writeFile(join(directory, image.sha256), content)
  await writeFile(join(directory, `${image.sha256}.part-1`), content)
  const own = { directory: join(directory, '..'), ...ANY_PORT, bytesMax: MIB }
  const imageCache = { own, urls: [], gatewayUrls: [gateway.url] }
  const config = { secretKey: SECRET, processName: 'one', imageCache }
  const { caches } = await openImageCache(owned, config, { clock: systemClock, log })

  expect(await readdir(directory)).toEqual([image.sha256])
  expect((await caches?.preload(image))?.state).toBe('cached')
  expect(gateway.requests).toBe(0)
})
