import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { endLeasesHeldBy } from '#common/saga/lease.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import type { ComputeDeps } from '../compute.ts'
import { tidySnapshots } from './tidy-snapshots.ts'

// Goal: images that are needed no more are removed by one gateway, and by another once that is gone.

let db: Database

beforeAll(async () => {
  db = await globalDatabase('tidy_snapshots')
})
afterAll(() => db?.[Symbol.asyncDispose]())

test('one gateway removes them, and another one after its end', async () => {
  const images = {
    tidy: async (mayRemove: () => Promise<boolean>) => ((await mayRemove()) ? 1 : 0),
  } as unknown as ComputeDeps['images']
  const removedBy = (processName: string) => {
    const reconciler = tidySnapshots({ images, db, clock: systemClock }, processName)
    return async () => (await reconciler.round(AbortSignal.timeout(10_000)))['removed']
  }
  const [first, second] = [removedBy('gateway-1'), removedBy('gateway-2')]

  expect([await first(), await second(), await first()]).toEqual([1, 0, 1])
  await endLeasesHeldBy(db, 'gateway-1')
  expect(await second()).toBe(1)
})
