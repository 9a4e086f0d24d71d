import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { instances } from '../db/schema/instances.ts'
import { allocations, resourceProviders } from '../db/schema/placement.ts'
import { serverMigrations } from '../db/schema/server-migrations.ts'
import { auditProvider } from './audit-provider.ts'
import { claim } from './claim.ts'
import { deleteProvider } from './delete-provider.ts'
import { putInventory } from './inventory.ts'
import { orphanedConsumers } from './orphans.ts'

// Goal: the counters of providers, consumers left behind on them, and when providers may be deleted.

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('providers', 'cells')
  db = new Database({ url, connectionsMax: 4 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

const RATIOS = { vcpus: 1, memoryMb: 1, diskGb: 1 }
const SIZE = { vcpus: 2, memoryMb: 10, diskGb: 3 }

/** A host that holds one server of SIZE. */
async function usedProvider(consumer: string = newId()): Promise<HostId> {
  const provider = newId<HostId>()
  const total = { vcpus: 8, memoryMb: 100, diskGb: 10 }
  await db.transaction((tx) => putInventory(tx, { provider, name: 'h', total, ratios: RATIOS }))
  await db.transaction((tx) => claim(tx, provider, consumer, SIZE))
  return provider
}

async function countsOf(provider: HostId) {
  const [row] = await db.orm
    .select()
    .from(resourceProviders)
    .where(eq(resourceProviders.id, provider))
  return row && [row.vcpusUsed, row.memoryMbUsed, row.diskGbUsed, row.instances]
}

const time = { createdAt: new Date(), updatedAt: new Date() }

describe('auditProvider()', () => {
  test.each(['vcpusUsed', 'memoryMbUsed', 'diskGbUsed', 'instances'] as const)(
    'corrects %s alone, and says so',
    async (column) => {
      const provider = await usedProvider()
      await db.orm
        .update(resourceProviders)
        .set({ [column]: 77 })
        .where(eq(resourceProviders.id, provider))

      expect(await auditProvider(db, provider)).toBe(true)
      expect(await countsOf(provider)).toEqual([2, 10, 3, 1])
      expect(await auditProvider(db, provider)).toBe(false)
    },
  )

  test('leaves a provider alone whose counts are right', async () => {
    const provider = await usedProvider()
    const generation = async () =>
      (await db.orm.select().from(resourceProviders).where(eq(resourceProviders.id, provider)))[0]
        ?.generation
    const before = await generation()

    expect(await auditProvider(db, provider)).toBe(false)
    expect(await generation()).toBe(before)
  })

  test('counts servers by resource classes that every server holds, not by classes that some hold', async () => {
    const provider = newId<HostId>()
    const total = { vcpus: 8, memoryMb: 100, diskGb: 10, custom: { CUSTOM_GPU: 1 } }
    await db.transaction((tx) => putInventory(tx, { provider, name: 'h', total, ratios: RATIOS }))
    const withGpu = { ...SIZE, custom: { CUSTOM_GPU: 1 } }
    await db.transaction((tx) => claim(tx, provider, newId(), withGpu))
    await db.transaction((tx) => claim(tx, provider, newId(), SIZE))

    expect(await auditProvider(db, provider)).toBe(false)
    expect(await countsOf(provider)).toEqual([4, 20, 6, 2])
  })

  test('counts nothing on a provider that holds nothing', async () => {
    const consumer = newId<string>()
    const provider = await usedProvider(consumer)
    await db.orm.delete(allocations).where(eq(allocations.consumerId, consumer))

    expect(await auditProvider(db, provider)).toBe(true)
    expect(await countsOf(provider)).toEqual([0, 0, 0, 0])
  })

  test('finds nothing wrong with a provider that is gone', async () => {
    expect(await auditProvider(db, newId<HostId>())).toBe(false)
  })
})

describe('deleteProvider()', () => {
  const remove = (provider: HostId) => db.transaction((tx) => deleteProvider(tx, provider))

  test('removes a host that holds nothing, and no other', async () => {
    const provider = await usedProvider()
    const other = await usedProvider()
    await db.orm.delete(allocations).where(eq(allocations.providerId, provider))

    await remove(provider)

    expect(await countsOf(provider)).toBeUndefined()
    expect(await countsOf(other)).toEqual([2, 10, 3, 1])
  })

  test('refuses while a server holds a place there', async () => {
    const provider = await usedProvider()

    await expect(remove(provider)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('in-progress migrations') as string,
    })
    expect(await countsOf(provider)).toEqual([2, 10, 3, 1])
  })

  test('refuses while a server is there, also one that holds nothing', async () => {
    const provider = await usedProvider()
    await db.orm.delete(allocations).where(eq(allocations.providerId, provider))
    await db.orm.insert(instances).values({
      serverId: newId(),
      attempt: 1,
      version: 1,
      projectId: 'p',
      vmState: 'active',
      powerState: 1,
      hostId: provider,
      sealedRecord: '',
      ...time,
    })

    await expect(remove(provider)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('hosting instances') as string,
    })
  })
})

test('orphanedConsumers() finds allocations whose consumer is neither a server nor a migration of one', async () => {
  const [server, orphan, migration] = [newId<string>(), newId<string>(), newId<string>()]
  for (const consumer of [server, orphan, migration]) await usedProvider(consumer)
  await db.orm.insert(instances).values({
    serverId: server,
    attempt: 1,
    version: 1,
    projectId: 'p',
    vmState: 'active',
    powerState: 1,
    sealedRecord: '',
    ...time,
  })
  await db.orm.insert(serverMigrations).values({
    id: migration,
    serverId: server,
    version: 1,
    type: 'resize',
    status: 'finished',
    oldFlavorId: 'a',
    newFlavorId: 'b',
    userId: 'u',
    projectId: 'p',
    ...time,
  })
  const later = new Date(Date.now() + 60_000)

  const found = await orphanedConsumers(db, later, 100)

  expect(found).toContain(orphan)
  expect(found).not.toContain(server)
  expect(found).not.toContain(migration)
  expect(await orphanedConsumers(db, later, 1)).toHaveLength(1)
  expect(await orphanedConsumers(db, new Date(0), 100)).toEqual([])
})
