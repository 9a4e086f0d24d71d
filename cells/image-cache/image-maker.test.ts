import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import { bytesOf, contentOf, qcow2Of } from '#common/qcow2/testing.ts'
import type { ImageFile } from '#drivers/driver.ts'
import type { ImageCaches } from '../images/image-caches.ts'
import { openImageCache } from './open-image-cache.ts'
import { ImageGateway } from './testing.ts'

// Goal: of a backup that a cell can make of the one before, only the changes come to it, and what it keeps is the backup.

const SECRET = randomBytes(32).toString('hex')
const MIB = 2 ** 20
const SERVER: string = newId()
const log = createLogger('test', 'silent')
const OLD = qcow2Of({ 0: 1, 1: 2, 2: 3, 3: 4 })
const CHANGES = qcow2Of({ 1: 9 })

let fasterBy = 1
const clock = { ...systemClock, elapsed: () => systemClock.elapsed() * fasterBy }
let owned: AsyncDisposableStack
let gateway: ImageGateway
let caches: ImageCaches
let folder: string
let before: ImageFile
let changes: ImageFile
let image: ImageFile

beforeEach(async () => {
  fasterBy = 1
  owned = new AsyncDisposableStack()
  gateway = owned.use(await ImageGateway.open())
  const directory = mkdtempSync(join(tmpdir(), 'weir-image-maker-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  folder = join(directory, 'one')
  const own = { directory, address: '127.0.0.1', port: 0, bytesMax: 8 * MIB, tls: undefined }
  const imageCache = { own, urls: [], gatewayUrls: [gateway.url] }
  const config = { secretKey: SECRET, processName: 'one', imageCache }
  const opened = await openImageCache(owned, config, { clock, log })
  caches = opened.caches!
  const merged = await mergeChanges(bytesOf(OLD), bytesOf(CHANGES))
  before = gateway.add(OLD)
  changes = gateway.add(CHANGES)
  image = gateway.add(await contentOf(merged.stream()))
})
afterEach(() => owned.disposeAsync())

const pinned = async (of: ImageFile, madeOf?: Parameters<ImageCaches['pin']>[2]) =>
  expect
    .poll(async () => (await caches.pin(SERVER, of, madeOf)).state, { timeout: 30_000 })
    .toBe('cached')
/** What the gateways send while it is pinned. */
async function sentFor(of: ImageFile, madeOf?: Parameters<ImageCaches['pin']>[2]) {
  const former = gateway.sentBytes
  await pinned(of, madeOf)
  return gateway.sentBytes - former
}
const isThere = async (of: ImageFile) => (await caches.find(of)).state === 'cached'

test('only the changes are fetched, and nothing of them stays', async () => {
  await pinned(before)
  expect(await sentFor(image, { before, changes })).toBe(CHANGES.length)

  expect(await isThere(image)).toBe(true)
  expect(await isThere(changes)).toBe(false)
  const names = (await readdir(folder)).filter((name) => name.includes('.pin-'))
  expect(names).toEqual([`${image.sha256}.pin-${SERVER}`])
})

test('a cache that does not have the backup before fetches the image', async () => {
  expect(await sentFor(image, { before, changes })).toBe(image.sizeBytes)
})

test('an image is fetched whose changes are the whole disk', async () => {
  await pinned(before)
  const all = qcow2Of({ 0: 5, 1: 6, 2: 7, 3: 8 })
  const merged = await mergeChanges(bytesOf(OLD), bytesOf(all))
  expect(await contentOf(merged.stream())).toEqual(all)
  const same = gateway.add(all)

  expect(await sentFor(same, { before, changes: gateway.add(all) })).toBe(all.length)
  expect(await isThere(same)).toBe(true)
})

test.each([
  ['are gone', () => ({ ...changes, id: newId() })],
  ['cannot be applied', () => gateway.add(qcow2Of({ 1: 9 }, 65))],
  ['are damaged', () => ({ ...changes, sha256: 'a'.repeat(64) })],
])('changes that %s are done without at once', async (_, given) => {
  await pinned(before)
  const sent = await sentFor(image, { before, changes: given() })
  expect(sent).toBeGreaterThanOrEqual(image.sizeBytes)
  expect(await isThere(image)).toBe(true)
})

test('changes that lead to another disk are not tried again', async () => {
  await pinned(before)
  // So a fetch that failed is soon begun again.
  fasterBy = 1_000
  const wrong = gateway.add(qcow2Of({ 1: 8 }))
  expect(await sentFor(image, { before, changes: wrong })).toBe(wrong.sizeBytes + image.sizeBytes)
})

test('a pin with a making that is none is refused', async () => {
  const broken = { before, changes: { ...changes, sizeBytes: -1 } }
  await expect(caches.pin(SERVER, image, broken)).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await isThere(image)).toBe(false)
})
