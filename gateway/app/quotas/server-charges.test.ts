import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database, Tx } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { quotaLimits, userQuotaLimits } from '../../db/schema/resources.ts'
import { instanceMappings } from '../../db/schema/servers.ts'
import { chargeQuota, NotCharged, queueQuotaCharge } from './charge-quota.ts'
import { chargeKept, endKeeping, softDeleteUncharged } from './kept-charge.ts'
import { reserveResize, settleResize } from './resize-charge.ts'

// Goal: what a project is charged for is what its servers have, through every change of them.

let db: Database
let owner: { readonly projectId: string; readonly userId: string }
let server: string

const CHARGE = { cores: 2, ramMb: 512 }

beforeAll(async () => {
  db = await globalDatabase('server_charges')
})
beforeEach(async () => {
  owner = { projectId: newId<string>().replaceAll('-', ''), userId: 'u'.repeat(32) }
  server = await addServer(db, null, 1, { owner, charge: CHARGE })
  await db.transaction((tx) => chargeQuota(tx, owner, { instances: 1, cores: 2, ram: 512 }))
})
afterAll(() => db?.[Symbol.asyncDispose]())

const used = async () => Object.fromEntries(await usagesOf(db, owner.projectId))
const WHOLE = { instances: 1, cores: 2, ram: 512 }
const NONE = { instances: 0, cores: 0, ram: 0 }
const change = (work: (tx: Tx) => Promise<void>) => db.transaction(work)
const reserve = (vcpus: number, memoryMb: number) =>
  change((tx) => reserveResize(tx, server, { vcpus, memoryMb }))
const settle = (vcpus: number, memoryMb: number) =>
  change((tx) => settleResize(tx, server, { vcpus, memoryMb }))
const limit = (resource: string, hardLimit: number) =>
  db.orm.insert(quotaLimits).values({ projectId: owner.projectId, resource, hardLimit })

async function isKept(): Promise<boolean | undefined> {
  const columns = { isKept: instanceMappings.isKept }
  const isServer = eq(instanceMappings.serverId, server)
  return (await db.orm.select(columns).from(instanceMappings).where(isServer))[0]?.isKept
}

test('a resize charges for the larger of both sizes, of each resource', async () => {
  await reserve(4, 256)

  expect(await used()).toEqual({ instances: 1, cores: 4, ram: 512 })
  expect(await findMapping(db, server)).toMatchObject({ cores: 4, ramMb: 512, isResizing: true })
})

test('a resize ends with the charge for the size it came to', async () => {
  await reserve(4, 256)
  await settle(4, 256)

  expect(await used()).toEqual({ instances: 1, cores: 4, ram: 256 })
  expect(await findMapping(db, server)).toMatchObject({ cores: 4, ramMb: 256, isResizing: false })

  await settle(1, 1)
  expect(await used()).toEqual({ instances: 1, cores: 4, ram: 256 })
})

test('a resize that came to more than was reserved gives nothing back, and takes nothing', async () => {
  await reserve(4, 1_024)
  await settle(5, 1_024)

  expect(await used()).toEqual({ instances: 1, cores: 4, ram: 1_024 })
})

test('a resize that came to nothing ends with the charge from before', async () => {
  await reserve(4, 1_024)
  await settle(2, 512)

  expect(await used()).toEqual(WHOLE)
})

test('a resize beyond the limit is refused with the additional amounts, and charges nothing', async () => {
  await limit('cores', 3)

  await expect(reserve(4, 256)).rejects.toMatchObject({
    kind: 'over-quota',
    message: 'Quota exceeded for cores: Requested 2, but already used 2 of 3 cores',
  })
  expect(await used()).toEqual(WHOLE)
  expect(await findMapping(db, server)).toMatchObject({ cores: 2, isResizing: false })
})

test('a resize is held against the limits of the server’s user', async () => {
  await db.orm.insert(userQuotaLimits).values({ ...owner, resource: 'cores', hardLimit: 3 })

  await expect(reserve(4, 256)).rejects.toMatchObject({
    message: 'Quota exceeded for cores: Requested 2, but already used 2 of 3 cores',
  })
  await reserve(3, 256)
  expect(await used()).toMatchObject({ cores: 3 })
})

test("a user's limit is reached exactly, and -1 or no limit does not limit", async () => {
  await db.orm.insert(userQuotaLimits).values([
    { ...owner, resource: 'instances', hardLimit: 1 },
    { ...owner, resource: 'cores', hardLimit: -1 },
  ])

  await reserve(9, 4_096)
  expect(await used()).toEqual({ instances: 1, cores: 9, ram: 4_096 })
  await expect(
    db.transaction((tx) => chargeQuota(tx, owner, { instances: 1 })),
  ).resolves.toBeUndefined()
})

test('nothing is changed for a server that is gone', async () => {
  await db.orm.delete(instanceMappings).where(eq(instanceMappings.serverId, server))

  await reserve(4, 4_096)
  await settle(1, 1)
  await change((tx) => softDeleteUncharged(tx, server))
  await change((tx) => chargeKept(tx, server))
  await change((tx) => endKeeping(tx, server))

  expect(await used()).toEqual(WHOLE)
})

test('a kept server is charged for no more, once', async () => {
  await change((tx) => softDeleteUncharged(tx, server))
  expect(await used()).toEqual(NONE)
  expect(await findMapping(db, server)).toMatchObject({ isCharged: false })
  expect(await isKept()).toBe(true)

  // Another server's, which must not be given back.
  await db.transaction((tx) => chargeQuota(tx, owner, WHOLE))
  await change((tx) => softDeleteUncharged(tx, server))
  expect(await used()).toEqual(WHOLE)
})

test('a kept server that is to come back is charged for once, within the limits', async () => {
  await change((tx) => softDeleteUncharged(tx, server))
  await change((tx) => chargeKept(tx, server))
  await change((tx) => chargeKept(tx, server))
  expect(await used()).toEqual(WHOLE)
  expect(await isKept()).toBe(true)

  await change((tx) => softDeleteUncharged(tx, server))
  await limit('ram', 511)
  await expect(change((tx) => chargeKept(tx, server))).rejects.toMatchObject({
    message: 'Quota exceeded for ram: Requested 512, but already used 0 of 511 ram',
  })
  expect(await findMapping(db, server)).toMatchObject({ isCharged: false })
})

test('a kept server that is to come back is held against the limits of its user', async () => {
  await change((tx) => softDeleteUncharged(tx, server))
  await db.orm.insert(userQuotaLimits).values({ ...owner, resource: 'cores', hardLimit: 1 })

  await expect(change((tx) => chargeKept(tx, server))).rejects.toMatchObject({
    message: 'Quota exceeded for cores: Requested 2, but already used 0 of 1 cores',
  })
})

test('where the project has no room, only its limit is named', async () => {
  await limit('cores', 3)
  await db.orm.insert(userQuotaLimits).values({ ...owner, resource: 'ram', hardLimit: 500 })

  await expect(
    db.transaction((tx) => chargeQuota(tx, owner, { cores: 2, ram: 1 })),
  ).rejects.toMatchObject({
    message: 'Quota exceeded for cores: Requested 2, but already used 2 of 3 cores',
  })
})

test('a restored soft-deleted server is charged once, regardless of limits', async () => {
  await limit('cores', 1)
  await change((tx) => softDeleteUncharged(tx, server))
  await change((tx) => endKeeping(tx, server))
  expect(await used()).toEqual(WHOLE)
  expect(await isKept()).toBe(false)

  await change((tx) => endKeeping(tx, server))
  expect(await used()).toEqual(WHOLE)
})

const queue = (deltas: Parameters<typeof queueQuotaCharge>[2]) =>
  db.transaction((tx) => {
    queueQuotaCharge(tx, owner, deltas)
    return Promise.resolve()
  })

test('a queued charge counts all that is asked for, or nothing and says so', async () => {
  await queue({ instances: 2, cores: 2, ram: 0 })
  expect(await used()).toEqual({ instances: 3, cores: 4, ram: 512 })

  await expect(queue({ instances: 1, cores: 17 })).rejects.toBeInstanceOf(NotCharged)
  // The project never had any, so that there is no row yet.
  await expect(queue({ server_groups: 1 })).rejects.toBeInstanceOf(NotCharged)
  await queue({})
  expect(await used()).toEqual({ instances: 3, cores: 4, ram: 512 })
})
