import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ImageCache } from './image-cache.ts'
import { TestImages } from './testing/test-images.ts'

describe('ImageCache', () => {
  let folder: string
  let images: TestImages
  let cache: ImageCache
  const signal = () => AbortSignal.timeout(5_000)

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-cache-'))
    images = new TestImages()
    cache = new ImageCache(folder, images)
    await cache.prepare()
  })
  afterEach(async () => {
    await cache?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('an image is fetched once, also by several at once, and kept over restarts', async () => {
    const image = images.add(Buffer.from('content'))

    const paths = await Promise.all([1, 2, 3].map(() => cache.path(image, signal())))
    const again = await new ImageCache(folder, images).path(image, signal())

    expect(new Set([...paths, again])).toEqual(new Set([join(folder, image.sha256)]))
    expect(await readFile(again, 'utf8')).toBe('content')
    expect(images.opened.get(image.id)).toBe(1)
    expect(await cache.find(image)).toEqual({ name: null, sizeBytes: 7 })
    expect(await cache.find({ sha256: 'f'.repeat(64) })).toBeUndefined()
    expect(await cache.find({ sha256: '../' })).toBeUndefined()
  })

  test('an image that was fetched ahead is here for the boot', async () => {
    const image = images.add(Buffer.from('content'))

    await cache.fetch(image, signal())

    expect(await cache.find(image)).toEqual({ name: null, sizeBytes: 7 })
    await cache.path(image, signal())
    expect(images.opened.get(image.id)).toBe(1)
  })

  test.each([
    ['a wrong checksum', { sha256: 'b'.repeat(64) }, 'SHA-256'],
    ['more than promised', { sizeBytes: 3 }, 'longer'],
    ['less than promised', { sizeBytes: 30 }, 'shorter'],
    ['no checksum', { sha256: '' }, 'SHA-256'],
  ])('content with %s is refused and leaves no file', async (_what, overrides, message) => {
    const image = images.add(Buffer.from('content'), overrides)
    const failure = { kind: 'invalid', message: expect.stringContaining(message) }

    await expect(cache.path(image, signal())).rejects.toMatchObject(failure)

    expect(await readdir(folder)).toEqual([])
  })

  test('one caller that gives up leaves the fetch to the others; the last one ends it', async () => {
    const image = images.addEndless()
    const [first, second] = [new AbortController(), new AbortController()]
    const fetches = [first, second].map((caller) => cache.path(image, caller.signal))
    const settled = fetches.map((fetch) => fetch.catch((error: unknown) => error))
    await expect.poll(() => readdir(folder)).toHaveLength(1)

    first.abort(new Error('first'))
    expect(await settled[0]).toMatchObject({ message: 'first' })
    expect(await readdir(folder)).toHaveLength(1)

    second.abort(new Error('second'))
    expect(await settled[1]).toMatchObject({ message: 'second' })
    await expect.poll(() => readdir(folder)).toEqual([])
  })

  test('a caller that comes right after the last one gave up starts again', async () => {
    const content = Buffer.from('late')
    const sha256 = createHash('sha256').update(content).digest('hex')
    const endless = { ...images.addEndless(), sha256 }
    const good = images.add(content)
    const impatient = new AbortController()
    const given = cache.path(endless, impatient.signal).catch((error: unknown) => error)

    impatient.abort(new Error('enough'))
    const path = await cache.path(good, signal())

    expect(await given).toMatchObject({ message: 'enough' })
    expect(await readFile(path, 'utf8')).toBe('late')
  })

  test('prepare() removes the files of interrupted fetches, and no others', async () => {
    const whole = 'c'.repeat(64)
    await writeFile(join(folder, whole), 'x')
    await writeFile(join(folder, `${whole}.part-1`), 'x')

    await cache.prepare()

    expect(await readdir(folder)).toEqual([whole])
  })

  test('purge() keeps images in use, and unused images while there is room', async () => {
    const names = ['1', '2'].map((digit) => digit.repeat(64))
    for (const [index, name] of names.entries()) {
      await writeFile(join(folder, name), 'x')
      await utimes(join(folder, name), index, index)
    }

    await cache.purge(new Set([names[0]!]))
    expect(await readdir(folder)).toEqual(names)

    await new ImageCache(folder, images, 0).purge(new Set([names[0]!]))
    expect(await readdir(folder)).toEqual([names[0]])
  })

  test('hold() keeps an image that others are removed for, until its last holder releases it', async () => {
    const small = new ImageCache(folder, images, 0)
    const [one, other] = [Buffer.from('one'), Buffer.from('other')].map((data) => images.add(data))
    const signal = AbortSignal.timeout(10_000)
    const first = await small.hold(one!, signal)
    const second = await small.hold(one!, signal)

    await (await small.hold(other!, signal))[Symbol.asyncDispose]()
    await first[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([one!.sha256])
    await second[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })
})
