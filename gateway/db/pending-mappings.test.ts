import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, type InstanceId, newId, type SagaId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { queueMappings, queueMarkDeleting, queueServerRelease } from './instance-mappings.ts'
import { listUnownedDeletes, releaseOrphans } from './pending-mappings.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('owed', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

/** A server whose delete was begun that many minutes ago and that no saga sees to any more. */
async function owed(cellId: CellId | null, minutesAgo: number): Promise<InstanceId> {
  const serverId = newId<InstanceId>()
  const saga = newId<SagaId>()
  const owner = { serverId, projectId: 'p'.repeat(32), sagaId: null }
  const mapping = { ...owner, cores: 1, ramMb: 1, cellId, attempt: 1 }
  await db.transaction(async (tx) => {
    queueMappings(tx, [mapping])
    queueMarkDeleting(tx, serverId, saga)
    queueServerRelease(tx, serverId, saga)
  })
  await db.orm.execute(
    `UPDATE instance_mappings SET changed_at = now(3) - INTERVAL ${minutesAgo} MINUTE WHERE server_id = '${serverId}'`,
  )
  return serverId
}

test('deletes owed by an unreachable cell do not keep those of other cells, or of none, waiting', async () => {
  const away = newId<CellId>()
  const first = await owed(away, 4)
  const second = await owed(newId<CellId>(), 3)
  const third = await owed(null, 2)

  expect(await listUnownedDeletes(db, [away], 2)).toEqual([second, third])
  expect(await listUnownedDeletes(db, [], 2)).toEqual([first, second])
})

test('work that began while the clock of the database was an hour ahead is done after the clock was set back', async () => {
  const cell = newId<CellId>()
  const young = await owed(cell, 0)
  const ahead = await owed(cell, -60)
  const orphan = await owed(cell, -60)
  await db.orm.execute(
    `UPDATE instance_mappings SET saga_id = uuid() WHERE server_id = '${orphan}'`,
  )

  const found = await listUnownedDeletes(db, [], 100)
  expect(found).toContain(ahead)
  expect(found).not.toContain(young)
  expect(await releaseOrphans(db)).toBe(1)
})

test('orphans are looked for among the servers that are being changed, however many others there are', async () => {
  await db.orm.execute(`INSERT INTO instance_mappings
    (server_id, project_id, cores, ram_mb, attempt, tried_cells, created_at, changed_at)
    SELECT uuid(), repeat('q', 32), 1, 1, 1, '[]', now(3), now(3) FROM seq_1_to_2000`)
  await db.orm.execute('ANALYZE TABLE instance_mappings')

  const rowsRead = await db.transaction(async (tx) => {
    const read = async () => {
      const [counters] = await tx.orm.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
      const rows = counters as unknown as readonly { readonly Value: string }[]
      return rows.reduce((sum, { Value }) => sum + Number(Value), 0)
    }
    const before = await read()
    expect(await releaseOrphans(tx)).toBe(0)
    return (await read()) - before
  })

  expect(rowsRead).toBeLessThan(200)
})
