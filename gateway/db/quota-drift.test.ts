import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { bootedPort } from '#test/env/booted-port.ts'
import { actUntilWaiting } from '#test/env/lock-waits.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { releasePort } from '../app/networks/release-port.ts'
import { releasePorts } from '../app/networks/server-ports.ts'
import { chargeType, chargeVolumes } from '../app/volumes/quotas.ts'
import { unusedContents } from './image-contents.ts'
import { findQuotaDrift, repairQuotaDrift } from './quota-drift.ts'
import { volumeQuotas } from './schema/block-storage.ts'
import { imageContents, images } from './schema/image.ts'
import { networkQuotas } from './schema/network.ts'
import { quotaUsages } from './schema/resources.ts'
import { volumeQuotaRows } from './volume-quotas.ts'
import { insertSnapshot } from './volume-snapshots.ts'
import { insertVolume, writeLockedVolume } from './volumes.ts'

const signal = new AbortController().signal

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('quota_drift', 'gateway')
  db = new Database({ url, connectionsMax: 8 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

const usedPorts = async (projectId: string) => {
  const rows = await db.orm
    .select()
    .from(networkQuotas)
    .where(eq(networkQuotas.projectId, projectId))
  return rows.find(({ resource }) => resource === 'port')?.used
}

test('a port that is detached while its server is deleted is given back once', async () => {
  const { projectId, serverId, portId } = await bootedPort(db)
  const another = await bootedPort(db)
  await db.orm.update(networkQuotas).set({ used: 7 }).where(eq(networkQuotas.projectId, projectId))
  const now = new Date()

  const { acted } = await db.transaction(async (tx) => {
    await releasePorts(tx, [serverId], now)
    await tx.flush()
    const detach = () => db.transaction((other) => releasePort(other, serverId, portId, now))
    return actUntilWaiting(db, detach)
  })
  await acted

  expect(await usedPorts(projectId)).toBe(6)
  expect(await usedPorts(another.projectId)).toBe(1)
})

test('a wrong ledger is corrected once, and the correction is reported', async () => {
  const { projectId } = await bootedPort(db)
  await db.orm.update(networkQuotas).set({ used: 9 }).where(eq(networkQuotas.projectId, projectId))
  await db.orm.insert(quotaUsages).values({ ownerId: projectId, resource: 'instances', used: 3 })
  await db.orm.insert(quotaUsages).values({ ownerId: projectId, resource: 'key_pairs', used: 2 })

  const rounds = await Promise.all([repairQuotaDrift(db, signal), repairQuotaDrift(db, signal)])

  const ofProject = rounds.flat().filter(({ ownerId }) => ownerId === projectId)
  const names = ofProject.map(
    ({ resource, recorded, counted }) => `${resource} ${recorded} ${counted}`,
  )
  expect(names.toSorted()).toEqual([
    'instances 3 0',
    'key_pairs 2 0',
    'network 9 1',
    'port 9 1',
    'security_group 9 1',
    'security_group_rule 9 4',
    'subnet 9 1',
  ])
  expect(await usedPorts(projectId)).toBe(1)
  expect(await repairQuotaDrift(db, signal)).toEqual([])
  const [recorded] = await db.orm.execute(
    sql`select details from event_inbox where type = 'quota.repaired'`,
  )
  expect(JSON.stringify(recorded)).toContain(`port of ${projectId} was recorded as 9, and is 1`)
})

test('a count beside a charge that has not committed leaves it its share', async () => {
  const { projectId, serverId } = await bootedPort(db)
  await db.orm.update(networkQuotas).set({ used: 9 }).where(eq(networkQuotas.projectId, projectId))

  const { acted } = await db.transaction(async (tx) => {
    await releasePorts(tx, [serverId], new Date())
    await tx.flush()
    return actUntilWaiting(db, () => repairQuotaDrift(db, signal))
  })
  await acted

  expect(await usedPorts(projectId)).toBe(0)
})

test('images of a content are counted again, also where the count is lost, but for those that hosts keep', async () => {
  const [few, lost, none, kept] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64)) as [
    string,
    string,
    string,
    string,
  ]
  for (const sha256 of [few, few, lost, kept])
    await db.orm.insert(images).values({
      id: newId(),
      status: 'active',
      visibility: 'private',
      owner: 'project',
      ...{ sha256, hostId: sha256 === kept ? newId() : null },
      minDiskGb: 0,
      minRamMb: 0,
      isProtected: false,
      isHidden: false,
      properties: {},
      createdAt: new Date(),
      updatedAt: new Date(),
      revision: 1,
    })
  await db.orm.insert(imageContents).values({ sha256: few, imageCount: 0 })
  await db.orm.insert(imageContents).values({ sha256: none, imageCount: 3 })

  const repaired = await repairQuotaDrift(db, signal)

  const recorded = repaired.map(
    (each) => `${each.ownerId[0]} ${each.resource} ${each.recorded} ${each.counted}`,
  )
  expect(recorded.toSorted()).toEqual(['a image 0 2', 'b image 0 1', 'c image 3 0'])
  expect(await unusedContents(db, 10)).toEqual([none])
  expect(await repairQuotaDrift(db, signal)).toEqual([])
})

test('snapshots count among the GiB of a project, in all and of their type, and what is charged for them stays', async () => {
  const projectId = newId<string>().replaceAll('-', '')
  const volumeId = newId<VolumeId>()
  const named = { projectId, userId: 'user', name: null, description: null, metadata: {} }
  const typeId = newId<string>()
  const of = { ...named, typeId, cellId: newId<CellId>(), sagaId: null }
  await db.transaction(async (tx) => {
    const plain = { isBootable: false, isMultiattach: false, encryption: null }
    const kind = { specs: {}, zone: null, ...plain, source: null }
    const state = { imageMetadata: null, fault: null, status: 'available' as const }
    await insertVolume(tx, { id: volumeId, ...of, ...kind, ...state, sizeGb: 3 })
    await insertSnapshot(tx, { id: newId<VolumeSnapshotId>(), volumeId, ...of, sizeGb: 3 })
    await chargeVolumes(tx, { projectId, typeId }, { volumes: 1, snapshots: 1, gigabytes: 6 })
  })

  expect(await repairQuotaDrift(db, signal)).toEqual([])

  await db.orm.update(volumeQuotas).set({ used: 9 }).where(eq(volumeQuotas.projectId, projectId))
  expect((await findQuotaDrift(db)).map(({ recorded }) => recorded)).toEqual(Array(6).fill(9))
  await repairQuotaDrift(db, signal)
  const used = (await volumeQuotaRows(db, projectId)).map((row) => [row.resource, row.used])
  expect(Object.fromEntries(used)).toEqual({
    volumes: 1,
    snapshots: 1,
    gigabytes: 6,
    [`volumes_${typeId}`]: 1,
    [`snapshots_${typeId}`]: 1,
    [`gigabytes_${typeId}`]: 6,
  })
})

test('a volume on its way to the store of another type counts once in all, and for both types', async () => {
  const projectId = newId<string>().replaceAll('-', '')
  const id = newId<VolumeId>()
  const [typeId, nextTypeId] = [newId<string>(), newId<string>()]
  const amounts = { volumes: 1, gigabytes: 3 }
  await db.transaction(async (tx) => {
    const named = { projectId, userId: 'user', name: null, description: null, metadata: {} }
    const plain = { isBootable: false, isMultiattach: false, encryption: null, specs: {} }
    const state = { imageMetadata: null, fault: null, source: null, zone: null, sagaId: null }
    const of = { ...named, ...plain, ...state, typeId, cellId: newId<CellId>() }
    await insertVolume(tx, { id, ...of, status: 'retyping', sizeGb: 3 })
    await writeLockedVolume(tx, id, { nextTypeId }, { isIntent: false })
    await chargeVolumes(tx, { projectId, typeId }, amounts)
    await chargeType(tx, { projectId, typeId: nextTypeId }, amounts)
  })

  expect(await repairQuotaDrift(db, signal)).toEqual([])

  const used = (await volumeQuotaRows(db, projectId)).map((row) => [row.resource, row.used])
  expect(Object.fromEntries(used)).toEqual({
    ...{ volumes: 1, gigabytes: 3, [`volumes_${typeId}`]: 1, [`gigabytes_${typeId}`]: 3 },
    ...{ [`volumes_${nextTypeId}`]: 1, [`gigabytes_${nextTypeId}`]: 3 },
  })
})
