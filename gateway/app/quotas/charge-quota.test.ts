import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { quotaClasses, quotaLimits } from '../../db/schema/resources.ts'
import { chargeQuota } from './charge-quota.ts'
import { refundQuota } from './refund-quota.ts'
import type { QuotaDeltas } from './resources.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('charge_quota', 'gateway')
  db = new Database({ url, connectionsMax: 16 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

const charge = (projectId: string, deltas: QuotaDeltas) =>
  db.transaction((tx) => chargeQuota(tx, { projectId, userId: 'somebody' }, deltas))
const server = { instances: 1, cores: 2, ram: 512 }

test('chargeQuota() names every resource that would pass its limit, with the numbers', async () => {
  await charge('full', { instances: 10, cores: 20, ram: 1024 })

  await expect(charge('full', { instances: 1, cores: 1, ram: 1 })).rejects.toMatchObject({
    kind: 'over-quota',
    message:
      'Quota exceeded for cores, instances: Requested 1, 1, but already used 20, 10 of 20, 10 cores, instances',
  })
  expect(await usagesOf(db, 'full')).toEqual(
    new Map([
      ['cores', 20],
      ['instances', 10],
      ['ram', 1024],
    ]),
  )
})

test('chargeQuota() prefers the limit of the project to that of the class, and that to the default', async () => {
  await db.orm
    .insert(quotaClasses)
    .values({ className: 'default', resource: 'server_groups', hardLimit: 2 })
  await db.orm
    .insert(quotaLimits)
    .values({ projectId: 'own', resource: 'server_groups', hardLimit: 3 })

  await charge('own', { server_groups: 3 })
  await expect(charge('other', { server_groups: 3 })).rejects.toMatchObject({ kind: 'over-quota' })
})

test('chargeQuota() takes -1 as unlimited', async () => {
  await db.orm
    .insert(quotaLimits)
    .values({ projectId: 'rich', resource: 'instances', hardLimit: -1 })

  await charge('rich', { instances: 1_000_000 })

  expect((await usagesOf(db, 'rich')).get('instances')).toBe(1_000_000)
})

test('parallel charges of one project never pass a limit, and none below it is refused', async () => {
  const limit = 37
  await db.orm.insert(quotaLimits).values(
    [['instances', limit] as const, ['cores', -1] as const].map(([resource, hardLimit]) => {
      return { projectId: 'busy', resource, hardLimit }
    }),
  )

  const outcomes = await Promise.all(
    Array.from({ length: 100 }, () =>
      charge('busy', server).then(
        () => 'charged',
        (error: unknown) => {
          if (isFailure(error, 'over-quota')) return 'refused'
          throw error
        },
      ),
    ),
  )

  expect(outcomes.filter((outcome) => outcome === 'charged')).toHaveLength(limit)
  const used = await usagesOf(db, 'busy')
  expect([used.get('instances'), used.get('cores'), used.get('ram')]).toEqual([
    limit,
    2 * limit,
    512 * limit,
  ])
})

test('refundQuota() returns the charged amounts and never goes below zero', async () => {
  await charge('leaver', server)

  await db.transaction((tx) => refundQuota(tx, 'leaver', server))
  await db.transaction((tx) => refundQuota(tx, 'leaver', { instances: 5 }))

  expect([...(await usagesOf(db, 'leaver')).values()]).toEqual([0, 0, 0])
})
