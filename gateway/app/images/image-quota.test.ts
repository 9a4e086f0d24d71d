import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { createImage } from './create-image.ts'
import type { Images } from './images.ts'

const AT_ONCE = 8

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('image_quota', 'gateway')
  db = new Database({ url, connectionsMax: AT_ONCE })
})

afterAll(() => db?.[Symbol.asyncDispose]())

test('a project of another Keystone gets no more images than its limit when it asks for many at once', async () => {
  const limits = { images: 3, bytes: 0 }
  const images = { db, clock: systemClock, limits } as Partial<Images> as Images
  const requester = { projectId: randomUUID().replaceAll('-', ''), isAdmin: false }

  const outcomes = await Promise.allSettled(
    Array.from({ length: AT_ONCE }, () => createImage(images, requester, { name: 'i' })),
  )

  const refused = outcomes.filter(({ status }) => status === 'rejected')
  expect(refused).toEqual(
    Array.from({ length: AT_ONCE - limits.images }, () => ({
      status: 'rejected',
      reason: expect.objectContaining({ kind: 'over-quota' }),
    })),
  )
})
