import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type ImageId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { Driver, ImageFile } from '#drivers/driver.ts'
import type { ImageCopies } from '#drivers/image-copies.ts'
import { ImageFetches } from './image-fetches.ts'

const image: ImageFile = {
  id: newId<ImageId>(),
  sizeBytes: 1,
  sha256: '0'.repeat(64),
  ticket: 't',
}
const log = createLogger('fetches', 'silent')
const signal = AbortSignal.timeout(10_000)
const fetchesOf = (imageCopies?: ImageCopies) =>
  new ImageFetches({ driver: { name: 'fake', imageCopies } as unknown as Driver, log })

test('an image is fetched once, however often it is asked for', async () => {
  const done = Promise.withResolvers<void>()
  let [fetched, isThere] = [0, false]
  const fetches = fetchesOf({
    find: async () => (isThere ? { name: null, sizeBytes: 1 } : undefined),
    fetch: () => {
      fetched += 1
      return done.promise
    },
  })

  for (const _ of [1, 2, 3]) expect(await fetches.ask(image, signal)).toBe('fetching')
  isThere = true
  done.resolve()

  expect(await fetches.ask(image, signal)).toBe('there')
  expect(fetched).toBe(1)
})

test('a failure is said once, and the next question begins again', async () => {
  let fetched = 0
  const fetches = fetchesOf({
    find: async () => undefined,
    fetch: async () => {
      fetched += 1
      throw new Failure('unavailable', 'no gateway')
    },
  })

  expect(await fetches.ask(image, signal)).toBe('fetching')
  await expect.poll(() => fetches.ask(image, signal)).toBe('failed')
  expect(await fetches.ask(image, signal)).toBe('fetching')
  expect(fetched).toBe(2)
})

test('a host whose driver fetches only for guests says so', async () => {
  const unsupported = { kind: 'unsupported' }
  for (const copies of [undefined, { find: async () => undefined }])
    await expect(fetchesOf(copies).ask(image, signal)).rejects.toMatchObject(unsupported)
})
