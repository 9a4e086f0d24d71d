import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { newId, type ProjectId } from '#common/ids.ts'
import { addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { seedRoles } from '#test/env/seed-identity.ts'
import { ensureProject } from '../../db/identity/projects.ts'
import { quotaClasses } from '../../db/schema/resources.ts'
import { chargeQuota } from './charge-quota.ts'
import {
  defaultLimits,
  limitsShown,
  lowerLimit,
  quotaClassLimits,
  quotaLimits,
  userQuotaLimits,
} from './quota-limits.ts'
import { quotaUsage } from './quota-usage.ts'
import { resetQuota } from './reset-quota.ts'
import { DEFAULT_LIMITS, type QuotaLimits } from './resources.ts'
import { updateQuota, wantedLimits } from './update-quota.ts'
import { updateQuotaClass } from './update-quota-class.ts'

// Goal: which limits hold, and which may be set.

const ADMIN = { isAdmin: true, isExternal: false, projectId: 'a'.repeat(32) as ProjectId }

let db: Database
let projectId: ProjectId

beforeAll(async () => {
  db = await globalDatabase('update_quota')
  await seedRoles(db)
})
beforeEach(async () => {
  projectId = newId<string>().replaceAll('-', '') as ProjectId
  await ensureProject(db, { id: projectId, domainId: 'default', name: projectId, description: '' })
  await db.orm.delete(quotaClasses)
})
afterAll(() => db?.[Symbol.asyncDispose]())

const set = (limits: Partial<QuotaLimits>, userId?: string, isForced = false) =>
  updateQuota(db, ADMIN, projectId, { userId, limits, isForced })
const use = (deltas: Parameters<typeof chargeQuota>[2], userId = 'somebody') =>
  db.transaction((tx) => chargeQuota(tx, { projectId, userId }, deltas))
const invalid = (message: string) => ({ kind: 'invalid', message })

test('the limits of a project go before those of the class, and these before the built-in ones', async () => {
  expect(await defaultLimits(db)).toEqual(DEFAULT_LIMITS)
  await updateQuotaClass(db, 'default', { cores: 7, ram: 100 })

  expect(await set({ cores: 8 })).toEqual({ ...DEFAULT_LIMITS, cores: 8, ram: 100 })
  expect(await quotaLimits(db, projectId)).toEqual({ ...DEFAULT_LIMITS, cores: 8, ram: 100 })
  expect(await quotaLimits(db, 'other')).toEqual({ ...DEFAULT_LIMITS, cores: 7, ram: 100 })
  expect(await defaultLimits(db)).toMatchObject({ cores: 7, ram: 100 })
})

test('a class has limits of its own, completed with the built-in ones, and no project uses it', async () => {
  expect(await updateQuotaClass(db, 'gold', { cores: 70 })).toEqual({
    ...DEFAULT_LIMITS,
    cores: 70,
  })
  expect(await quotaClassLimits(db, 'gold')).toMatchObject({ cores: 70 })
  expect(await quotaLimits(db, projectId)).toEqual(DEFAULT_LIMITS)
})

test('the name of a class has 255 characters at the most', async () => {
  await expect(updateQuotaClass(db, 'c'.repeat(256), {})).rejects.toMatchObject(
    invalid('quota_class_name has more than 255 characters.'),
  )
  expect(await updateQuotaClass(db, 'c'.repeat(255), { cores: 1 })).toMatchObject({ cores: 1 })
})

test('the limits of a user are shown for that user alone, completed with those of the project', async () => {
  await set({ cores: 12 })

  expect(await set({ instances: 4 }, 'ann')).toMatchObject({ instances: 4, cores: 12 })

  expect(await userQuotaLimits(db, { projectId, userId: 'ann' })).toMatchObject({ instances: 4 })
  expect(await limitsShown(db, projectId, 'ann')).toMatchObject({ instances: 4, cores: 12 })
  expect(await limitsShown(db, projectId, undefined)).toMatchObject({ instances: 10 })
  expect(await limitsShown(db, projectId, 'ben')).toMatchObject({ instances: 10 })
})

test.each([
  ['the user’s, where it is lower', 5, 10, 5],
  ['the project’s, where that is lower', 50, 10, 10],
  ['the user’s, where the project has none', 5, -1, 5],
  ['the project’s, where the user has none', undefined, 10, 10],
  ['none, where neither has one', -1, -1, -1],
])('what a user may have is %s', async (_what, ofUser, ofProject, lower) => {
  await set({ key_pairs: ofProject })
  if (ofUser !== undefined) await set({ key_pairs: ofUser }, 'ann', true)

  expect(await lowerLimit(db, { projectId, userId: 'ann' }, 'key_pairs')).toBe(lower)
})

test('a limit goes down to the used amount and not below, unless forced', async () => {
  await use({ instances: 3 })

  expect(await set({ instances: 3 })).toMatchObject({ instances: 3 })
  await expect(set({ instances: 2 })).rejects.toMatchObject(
    invalid(
      'Quota limit 2 for instances must be greater than or equal to already used and reserved 3.',
    ),
  )
  expect(await set({ instances: 2 }, undefined, true)).toMatchObject({ instances: 2 })
  expect(await set({ instances: -1 })).toMatchObject({ instances: -1 })
})

test("a limit of the project can be lowered to the sum of its users' limits, where that is more than its usage", async () => {
  await use({ instances: 3 })
  await set({ instances: 4 }, 'ann')
  await set({ instances: 2 }, 'ben')

  await expect(set({ instances: 5 })).rejects.toMatchObject(
    invalid(
      'Quota limit 5 for instances must be greater than or equal to already used and reserved 6.',
    ),
  )
  expect(await set({ instances: 6 })).toMatchObject({ instances: 6 })
})

test('users are given no more together than the project has, one’s own part set aside', async () => {
  await set({ instances: 6 }, 'ann')
  await expect(set({ instances: 5 }, 'ben')).rejects.toMatchObject(
    invalid('Quota limit 5 for instances must be less than or equal to 4.'),
  )
  expect(await set({ instances: 4 }, 'ben')).toMatchObject({ instances: 4 })
  await expect(set({ instances: -1 }, 'ben')).rejects.toMatchObject(
    invalid('Quota limit -1 for instances must be less than or equal to 4.'),
  )
  expect(await set({ instances: 6 }, 'ann')).toMatchObject({ instances: 6 })

  await set({ instances: 20 }, 'ann', true)
  await expect(set({ instances: 5 }, 'ben')).rejects.toMatchObject(
    invalid('Quota limit 5 for instances must be less than or equal to 0.'),
  )
})

test("a user's limit can be lowered to that user's usage", async () => {
  const owner = { projectId, userId: 'u'.repeat(32) }
  for (let each = 0; each < 2; each += 1) await addServer(db, null, 1, { owner })

  expect(await set({ instances: 2 }, owner.userId)).toMatchObject({ instances: 2 })
  await expect(set({ instances: 1 }, owner.userId)).rejects.toMatchObject(
    invalid(
      'Quota limit 1 for instances must be greater than or equal to already used and reserved 2.',
    ),
  )
})

test('a project without a limit gives any to its users', async () => {
  await set({ instances: -1 })

  expect(await set({ instances: -1 }, 'ann')).toMatchObject({ instances: -1 })
  expect(await set({ instances: 1_000 }, 'ben')).toMatchObject({ instances: 1_000 })
})

test('a project that does not exist, or is another’s, has no quota to set', async () => {
  const change = { userId: undefined, limits: { cores: 1 }, isForced: false }

  await expect(updateQuota(db, ADMIN, 'f'.repeat(32), change)).rejects.toMatchObject({
    kind: 'invalid',
  })
  await expect(
    updateQuota(db, { ...ADMIN, isAdmin: false }, projectId, change),
  ).rejects.toMatchObject({
    kind: 'forbidden',
    message: 'Only administrators may see the quota of another project.',
  })
  const own = { isAdmin: false, isExternal: false, projectId }
  expect(await updateQuota(db, own, projectId, change)).toMatchObject({ cores: 1 })
})

test('wantedLimits() keeps the named ones, in the resources’ order', () => {
  expect([...wantedLimits({ ram: 0, cores: 5 })]).toEqual([
    ['cores', 5],
    ['ram', 0],
  ])
})

test('resetQuota() removes the limits of one user, or of the project with all of its users', async () => {
  await set({ instances: 4 }, 'ann')
  await set({ instances: 5 }, 'ben')
  await set({ cores: 3 })

  await resetQuota(db, projectId, 'ann')
  expect(await limitsShown(db, projectId, 'ann')).toMatchObject({ instances: 10, cores: 3 })
  expect(await limitsShown(db, projectId, 'ben')).toMatchObject({ instances: 5 })

  await resetQuota(db, projectId, undefined)
  expect(await limitsShown(db, projectId, 'ben')).toEqual(DEFAULT_LIMITS)
})

test('quotaUsage() has every resource, and 0 for unused ones', async () => {
  await use({ cores: 2 })

  const none = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, 0]))
  expect(await quotaUsage(db, projectId)).toEqual({ ...none, cores: 2 })
  expect(await quotaUsage(db, projectId, 'ann')).toEqual(none)
})
