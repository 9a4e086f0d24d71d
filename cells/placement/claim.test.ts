import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { allocations, customResources, resourceProviders } from '../db/schema/placement.ts'
import { serverMigrations } from '../db/schema/server-migrations.ts'
import { auditProvider } from './audit-provider.ts'
import { claim, queueClaim } from './claim.ts'
import { putInventory } from './inventory.ts'
import { heldBy, heldByServer, queueRelease, release } from './release.ts'
import type { Resources } from './resources.ts'
import { transfer } from './transfer.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('claims', 'cells')
  db = new Database({ url, connectionsMax: 16 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

const NO_OVERCOMMIT = { vcpus: 1, memoryMb: 1, diskGb: 1 }

async function provide(total: Resources, provider = newId<HostId>(), ratios = NO_OVERCOMMIT) {
  await db.transaction((tx) => putInventory(tx, { provider, name: 'host', total, ratios }))
  return provider
}

const take = (provider: HostId, resources: Resources, consumer: string = newId()) =>
  db.transaction((tx) => claim(tx, provider, consumer, resources))

async function usageOf(provider: HostId) {
  const [row] = await db.orm
    .select()
    .from(resourceProviders)
    .where(eq(resourceProviders.id, provider))
  const held = await db.orm.select().from(allocations).where(eq(allocations.providerId, provider))
  const sum = (resourceClass: string) =>
    held
      .filter((one) => one.resourceClass === resourceClass)
      .reduce((total, { used }) => total + used, 0)
  return {
    counted: [row?.vcpusUsed, row?.memoryMbUsed, row?.diskGbUsed],
    held: [sum('VCPU'), sum('MEMORY_MB'), sum('DISK_GB')],
    instances: row?.instances,
  }
}

test('of many claims at once exactly those that fit succeed', async () => {
  const provider = await provide({ vcpus: 7, memoryMb: 10_000, diskGb: 10_000 })

  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () => take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 })),
  )

  expect(outcomes.filter(Boolean)).toHaveLength(3)
  expect(await usageOf(provider)).toEqual({
    counted: [6, 30, 3],
    held: [6, 30, 3],
    instances: 3,
  })
})

test('claims at once, queued or not, give a provider no more instances than it may have', async () => {
  const [max, size] = [3, { vcpus: 1, memoryMb: 1, diskGb: 1 }]
  const provider = await provide({ vcpus: 100, memoryMb: 100, diskGb: 100 })
  const now = () => db.transaction((tx) => claim(tx, provider, newId(), size, max))
  const queued = () =>
    db.transaction(async (tx) =>
      queueClaim(tx, provider, newId(), size, { ...LOST, instancesMax: max }),
    )

  const claims = Array.from({ length: 5 }, () => [now(), queued()]).flat()
  const outcomes = await Promise.allSettled(claims)

  const taken = outcomes.filter((each) => each.status === 'fulfilled' && each.value !== false)
  expect(taken).toHaveLength(max)
  expect(await usageOf(provider)).toMatchObject({ held: [max, max, max], instances: max })
})

test('releasing twice gives back once', async () => {
  const provider = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  const consumer = newId()
  await take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 })
  await take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 }, consumer)

  await Promise.all([1, 2, 3].map(() => db.transaction((tx) => release(tx, consumer))))

  expect(await usageOf(provider)).toEqual({ counted: [2, 10, 1], held: [2, 10, 1], instances: 1 })
})

const lost = () => new Error('lost')
const LOST = { otherwise: lost }
const gold = (vcpus: number, amount: number): Resources => ({
  vcpus,
  memoryMb: 1,
  diskGb: 1,
  custom: { CUSTOM_GOLD: amount },
})

test.each([
  ['what every host has', gold(3, 1)],
  ['a custom class', gold(1, 3)],
])(
  'a queued claim takes all it asks for, or fails its transaction for want of %s',
  async (_, tooMuch) => {
    const provider = await provide({ ...gold(2, 2), memoryMb: 2, diskGb: 2 })
    const consumer = newId<string>()
    const queued = (resources: Resources) =>
      db.transaction(async (tx) => queueClaim(tx, provider, consumer, resources, LOST))

    await expect(queued(tooMuch)).rejects.toThrow('lost')
    expect(await usageOf(provider)).toEqual({ counted: [0, 0, 0], held: [0, 0, 0], instances: 0 })

    await queued({ ...gold(2, 2), memoryMb: 2, diskGb: 2 })
    expect(await usageOf(provider)).toMatchObject({ held: [2, 2, 2], instances: 1 })
    expect(await auditProvider(db, provider)).toBe(false)
    expect(await heldBy(db, consumer)).toHaveLength(4)
  },
)

test('a queued release returns the amounts that were read, or fails if they have changed', async () => {
  const provider = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  const elsewhere = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  const [consumer, other] = [newId<string>(), newId<string>()]
  for (const each of [consumer, other]) {
    await take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 }, each)
    await take(elsewhere, { vcpus: 1, memoryMb: 20, diskGb: 2 }, each)
  }
  const [held, others] = await Promise.all([heldBy(db, consumer), heldBy(db, other)])
  expect(held).toHaveLength(6)
  expect(others.every((row) => row.provider_id === provider || row.provider_id === elsewhere)).toBe(
    true,
  )
  const queued = () => db.transaction(async (tx) => queueRelease(tx, consumer, held, lost))

  await queued()
  await expect(queued()).rejects.toThrow('lost')

  expect(await heldBy(db, consumer)).toEqual([])
  expect(await usageOf(provider)).toMatchObject({ counted: [2, 10, 1], instances: 1 })
  expect(await usageOf(elsewhere)).toMatchObject({ counted: [1, 20, 2], instances: 1 })
})

test('servers alike that are released at once give back what each of them held', async () => {
  const provider = await provide({ ...gold(40, 40), memoryMb: 100, diskGb: 10 })
  const consumers = Array.from({ length: 6 }, () => newId<string>())
  for (const each of [...consumers, newId<string>()])
    await take(provider, { ...gold(2, 3), memoryMb: 10, diskGb: 1 }, each)
  const all = await Promise.all(consumers.map((each) => heldBy(db, each)))

  await Promise.all(
    consumers.map((each, nth) =>
      db.transaction(async (tx) => queueRelease(tx, each, all[nth]!, lost)),
    ),
  )

  expect(await usageOf(provider)).toEqual({ counted: [2, 10, 1], held: [2, 10, 1], instances: 1 })
  const [custom] = await db.orm
    .select()
    .from(customResources)
    .where(eq(customResources.providerId, provider))
  expect(custom?.used).toBe(3)
})

test('what a server holds is read together with whether it may have moved', async () => {
  const provider = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  const [stayed, moved, holdsNothing] = [newId<string>(), newId<string>(), newId<string>()]
  for (const each of [stayed, moved])
    await take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 }, each)
  const time = { createdAt: new Date(), updatedAt: new Date() }
  const by = { userId: 'u', projectId: 'p', oldFlavorId: 'a', newFlavorId: 'b' }
  await db.orm.insert(serverMigrations).values({
    id: newId(),
    serverId: moved,
    version: 1,
    type: 'resize',
    status: 'done',
    ...by,
    ...time,
  })

  const read = await Promise.all(
    [stayed, moved, holdsNothing].map((each) => heldByServer(db, each)),
  )

  expect(read).toEqual([
    { held: await heldBy(db, stayed), mayHaveMoved: false },
    { held: await heldBy(db, moved), mayHaveMoved: true },
    { held: [], mayHaveMoved: true },
  ])
})

test('a transfer changes who holds and not how much is held', async () => {
  const provider = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  const [from, to, bystander] = [newId<string>(), newId<string>(), newId<string>()]
  for (const each of [from, bystander])
    await take(provider, { vcpus: 2, memoryMb: 10, diskGb: 1 }, each)

  await db.transaction((tx) => transfer(tx, from, to))

  expect(await heldBy(db, from)).toEqual([])
  expect(await heldBy(db, to)).toHaveLength(3)
  expect(await heldBy(db, bystander)).toHaveLength(3)
  expect(await usageOf(provider)).toMatchObject({ counted: [4, 20, 2], instances: 2 })
})

test('overcommit lets a provider take more than it has', async () => {
  const provider = await provide({ vcpus: 2, memoryMb: 10, diskGb: 10 }, newId<HostId>(), {
    vcpus: 1.5,
    memoryMb: 2,
    diskGb: 1,
  })

  expect(await take(provider, { vcpus: 3, memoryMb: 20, diskGb: 10 })).toBe(true)
  expect(await take(provider, { vcpus: 0, memoryMb: 1, diskGb: 0 })).toBe(false)
})

test('an inventory that shrank below the used amount accepts nothing more', async () => {
  const provider = await provide({ vcpus: 8, memoryMb: 100, diskGb: 10 })
  await take(provider, { vcpus: 6, memoryMb: 10, diskGb: 1 })

  await provide({ vcpus: 4, memoryMb: 100, diskGb: 10 }, provider)

  expect(await take(provider, { vcpus: 0, memoryMb: 1, diskGb: 0 })).toBe(false)
  expect((await usageOf(provider)).counted).toEqual([6, 10, 1])
})

test('simultaneous claims of a custom class succeed up to its total, and each release returns its amount', async () => {
  const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
  const provider = await provide({ ...nothing, custom: { CUSTOM_GOLD: 3, CUSTOM_TIN: 1 } })
  const custom = async () => {
    const rows = await db.orm
      .select()
      .from(customResources)
      .where(eq(customResources.providerId, provider))
    return Object.fromEntries(rows.map((row) => [row.resourceClass, [row.limit, row.used]]))
  }
  const consumers = Array.from({ length: 12 }, () => newId<string>())
  const gold = { ...nothing, custom: { CUSTOM_GOLD: 1 } }

  const outcomes = await Promise.all(consumers.map((consumer) => take(provider, gold, consumer)))

  expect(outcomes.filter(Boolean)).toHaveLength(3)
  const both = { ...nothing, custom: { CUSTOM_TIN: 1, CUSTOM_GOLD: 1 } }
  expect(await take(provider, both)).toBe(false)
  expect(await take(provider, { ...nothing, custom: { CUSTOM_NONE: 1 } })).toBe(false)
  expect(await take(provider, { ...gold, vcpus: 1 })).toBe(false)
  expect(await custom()).toEqual({ CUSTOM_GOLD: [3, 3], CUSTOM_TIN: [1, 0] })
  expect((await usageOf(provider)).instances).toBe(3)
  expect(await auditProvider(db, provider)).toBe(false)

  await provide({ ...nothing, custom: { CUSTOM_TIN: 1 } }, provider)
  await db.transaction((tx) => release(tx, consumers[outcomes.indexOf(true)]!))
  expect(await custom()).toEqual({ CUSTOM_GOLD: [0, 2], CUSTOM_TIN: [1, 0] })
  await db.orm
    .update(customResources)
    .set({ used: 7 })
    .where(eq(customResources.providerId, provider))
  expect(await auditProvider(db, provider)).toBe(true)
  expect(await custom()).toEqual({ CUSTOM_GOLD: [0, 2], CUSTOM_TIN: [1, 0] })
})

test('under any simultaneous claims and releases no provider is overbooked and the counters are exact', async () => {
  const amount = fc.integer({ min: 0, max: 4 })
  const amounts = fc.record({ vcpus: amount, memoryMb: amount, diskGb: amount })
  await fc.assert(
    fc.asyncProperty(fc.array(amounts, { maxLength: 16 }), amounts, async (requests, total) => {
      const provider = await provide({
        vcpus: total.vcpus * 3,
        memoryMb: total.memoryMb * 3,
        diskGb: total.diskGb * 3,
      })

      await Promise.all(
        requests.map(async (resources, index) => {
          const consumer = newId()
          await take(provider, resources, consumer)
          if (index % 3 === 0) await db.transaction((tx) => release(tx, consumer))
        }),
      )

      const { counted, held } = await usageOf(provider)
      expect(counted).toEqual(held)
      const limits = [total.vcpus * 3, total.memoryMb * 3, total.diskGb * 3]
      for (const [index, limit] of limits.entries())
        expect(counted[index]).toBeLessThanOrEqual(limit)
    }),
    { numRuns: 15 },
  )
})
