import { desc, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId, type VolumeId } from '#common/ids.ts'
import { statementMeasure } from '#common/metrics/measures.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import type { ResourcePage } from './resource-page.ts'
import { volumes } from './schema/volumes.ts'
import { listVolumes } from './volume-list.ts'
import { findVolume, insertVolume } from './volumes.ts'

const COUNT = 300
const PROJECT = 'project'
const NEWEST: ResourcePage = {
  filters: [],
  sort: [
    { attribute: 'created_at', direction: 'desc' },
    { attribute: 'id', direction: 'desc' },
  ],
  limit: COUNT,
  marker: undefined,
  isReversed: false,
}

let db: Database
let ids: readonly VolumeId[]

beforeAll(async () => {
  const url = await migratedDatabase('volume-list', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  await db.transaction(async (tx) => {
    for (let n = 0; n < COUNT; n += 1) await insertVolume(tx, volume(n, PROJECT))
    await insertVolume(tx, volume(COUNT, 'another'))
  })
  // Many have one time, so that their ids decide the order.
  const time = sql`timestampadd(second, ${volumes.sizeGb} % 5, '2026-01-01 00:00:00.123')`
  await db.orm.update(volumes).set({ createdAt: time })
  const rows = await db.orm
    .select({ id: volumes.id })
    .from(volumes)
    .where(sql`${volumes.projectId} = ${PROJECT}`)
    .orderBy(desc(volumes.createdAt), desc(volumes.id))
  ids = rows.map(({ id }) => id as VolumeId)
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** Every third is as full as a volume can be. */
function volume(n: number, projectId: string) {
  const isFull = n % 3 === 0
  const source = { kind: 'snapshot', snapshotId: newId<VolumeId>(), volumeId: newId<VolumeId>() }
  return {
    ...{ id: newId<VolumeId>(), projectId, userId: 'u', name: isFull ? `v${n}` : null, sizeGb: n },
    ...{ description: isFull ? '"quoted" ü' : null, metadata: isFull ? { a: 'ü' } : {}, specs: {} },
    ...{ typeId: isFull ? newId<string>() : null, zone: isFull ? 'north' : null, sagaId: null },
    ...{ status: 'available' as const, isBootable: isFull, isMultiattach: isFull },
    ...{ encryption: isFull ? { keyBits: 256 as const } : null, fault: isFull ? 'broken' : null },
    ...{ imageMetadata: isFull ? { os: 'linux' } : null, cellId: isFull ? newId<CellId>() : null },
    source: isFull ? (source as never) : null,
  }
}

async function listed(page: Partial<ResourcePage>): Promise<readonly string[]> {
  const found = await listVolumes(db, PROJECT, { ...NEWEST, ...page })
  return found.map(({ id }) => id)
}

test.each([0, 1, 125, 126, 299, 300, 1_000])(
  'a page of %d has each volume once, the newest first',
  async (limit) => {
    expect(await listed({ limit })).toEqual(ids.slice(0, limit))
  },
)

test.each([1, 125, 200])(
  'a page goes on after %d volumes where the first one ended',
  async (limit) => {
    const first = await listed({ limit })

    expect([...first, ...(await listed({ marker: first.at(-1) }))]).toEqual(ids)
  },
)

test('a list has of each volume what the volume itself has', async () => {
  const found = await listVolumes(db, PROJECT, NEWEST)

  expect(found).toHaveLength(COUNT)
  for (const shown of [...found.slice(0, 6), ...found.slice(-6)])
    expect(await findVolume(db, shown.id)).toMatchObject(shown)
})

test('the first page takes one query for each of its slices, however many ask for it', async () => {
  let statements = 0
  using _counting = statementMeasure.listen(() => {
    statements += 1
  })
  await Promise.all(Array.from({ length: 5 }, () => listed({})))

  expect(statements).toBe(3)
})
