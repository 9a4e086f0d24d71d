import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type HostId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { diskFile } from '#drivers/disk-file.ts'
import type { DiskImage } from '#drivers/driver.ts'
import type { ImageTarget } from '../images/image-client.ts'
import type { ImageFiller, KeptAnswer, SavedDisk } from './compute.ts'
import { KeptDisks, type MovableDisk } from './kept-disks.ts'

// Goal: a kept disk is there, whole, as long as its image may have it, and no longer.

const CONTENT = '0123456789'
const SHA256 = '84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882'
const signal = AbortSignal.timeout(30_000)
const hostId = newId<HostId>()
let directory: string
let folder: string
let target: ImageTarget
let kept: SavedDisk[]
let sent: string[]
let answer: () => KeptAnswer
let claims: () => boolean
let disks: KeptDisks
let elapsed: number

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kept-disks-'))
  folder = join(directory, 'kept-disks')
  target = { imageId: newId<string>(), ticket: 't', mayKeep: true }
  elapsed = 0
  kept = []
  sent = []
  answer = () => ({ isKept: true, isFilled: true })
  claims = () => true
  disks = opened()
})
afterEach(() => rm(directory, { recursive: true }))

const images: ImageFiller = {
  async fill(_, disk) {
    sent.push(await textOf(disk))
    return true
  },
  async keep(_, saved) {
    kept.push(saved)
    return answer()
  },
  isKept: async () => claims(),
}

/** As after a start of the host's compute. */
function opened(): KeptDisks {
  const log = createLogger('test', 'silent')
  return new KeptDisks({ folder, hostId, images, log, clock: { elapsed: () => elapsed } })
}

async function saved(content = CONTENT): Promise<MovableDisk> {
  const path = join(directory, 'saved')
  await writeFile(path, content)
  return (await diskFile(path, 'qcow2')) as MovableDisk
}

async function textOf(disk: DiskImage): Promise<string> {
  const chunks = []
  for await (const chunk of disk.content()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const read = async () => Buffer.from(await disks.read(target.imageId, 0, 100)).toString()
const round = () => disks.reconciler().round(signal)
const fails = (kind: 'unavailable' | 'conflict' | 'not-found') => () => {
  throw new Failure(kind, kind)
}

test('a disk stays at the host, which reports its size and digests, and gives any part of it', async () => {
  expect(await disks.fill(target, await saved(), signal)).toBe(true)

  expect(kept).toEqual([
    expect.objectContaining({ hostId, diskFormat: 'qcow2', sizeBytes: 10, sha256: SHA256 }),
  ])
  expect(sent).toEqual([])
  expect(existsSync(join(directory, 'saved'))).toBe(false)
  expect(await read()).toBe(CONTENT)
  expect(Buffer.from(await disks.read(target.imageId, 3, 4)).toString()).toBe('3456')
  expect(await disks.read(target.imageId, 10, 4)).toHaveLength(0)
  await expect(disks.read(newId(), 0, 4)).rejects.toMatchObject({ kind: 'not-found' })
})

test('a disk that gateways cannot read here is sent, and is here no more', async () => {
  answer = fails('conflict')

  expect(await disks.fill(target, await saved(), signal)).toBe(true)

  expect(sent).toEqual([CONTENT])
  expect(await readdir(folder)).toEqual([])
})

test('a disk that an image may have without an answer stays for the repeat, which reports the same content', async () => {
  answer = fails('unavailable')
  await expect(disks.fill(target, await saved(), signal)).rejects.toThrow('unavailable')

  disks = opened()
  expect(await round()).toEqual({ kept: 1, removed: 0 })
  answer = () => ({ isKept: true, isFilled: true })
  expect(await disks.fill(target, await saved('written since'), signal)).toBe(false)

  expect(kept.map(({ sha256 }) => sha256)).toEqual([SHA256, SHA256])
  expect(await read()).toBe(CONTENT)
})

test('a disk goes whose image has another content, or is gone', async () => {
  answer = () => ({ isKept: false, isFilled: false })
  expect(await disks.fill(target, await saved(), signal)).toBe(false)
  expect(await readdir(folder)).toEqual([])

  answer = () => ({ isKept: true, isFilled: true })
  await disks.fill(target, await saved(), signal)
  expect(await round()).toEqual({ kept: 1, removed: 0 })
  claims = fails('unavailable')
  expect(await round()).toEqual({ kept: 1, removed: 0 })
  claims = () => false
  disks = opened()
  expect(await round()).toEqual({ kept: 0, removed: 1 })
  expect(await readdir(folder)).toEqual([])
})

test('a disk that no image was seen to have goes after a quarter of an hour', async () => {
  answer = fails('unavailable')
  await expect(disks.fill(target, await saved(), signal)).rejects.toThrow('unavailable')
  claims = () => false
  expect(await round()).toEqual({ kept: 1, removed: 0 })

  elapsed += 16 * 60_000
  expect(await round()).toEqual({ kept: 0, removed: 1 })
})

test('a disk that cannot be moved leaves nothing behind', async () => {
  const disk = { ...(await saved()), moveTo: () => Promise.reject(new Error('no room')) }

  await expect(disks.fill(target, disk, signal)).rejects.toThrow('no room')

  expect(await readdir(folder)).toEqual([])
  expect(await readFile(join(directory, 'saved'), 'utf8')).toBe(CONTENT)
})
