import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { findMigrationByUuid } from './server-migration-list.ts'
import { queueMigrations } from './server-migrations.ts'

const cell = newId<CellId>()
let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('server_migrations', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

const sample = (): MigrationView => ({
  id: newId(),
  serverId: newId(),
  version: 1,
  type: 'resize',
  status: 'migrating',
  sourceHost: 'host-1',
  sourceNode: 'host-1',
  destHost: 'host-1',
  destNode: 'host-1',
  oldFlavorId: '1',
  newFlavorId: '2',
  userId: 'user',
  projectId: 'project',
  createdAt: 0,
  updatedAt: 0,
})

test('a migration shows its newest version, in any order of arrival', async () => {
  const first = sample()
  const later: readonly MigrationView[] = [
    { ...first, version: 3, status: 'confirmed', destHost: 'host-2' },
    { ...first, version: 2, status: 'finished' },
  ]
  for (const view of [first, ...later])
    await db.transaction(async (tx) => queueMigrations(tx, cell, [view]))

  expect(await findMigrationByUuid(db, first.id)).toMatchObject({
    status: 'confirmed',
    destHost: 'host-2',
  })
})

test('a migration of one cell is not changed by another that names it', async () => {
  const first = sample()
  await db.transaction(async (tx) => queueMigrations(tx, cell, [first]))

  const forged = { ...first, version: 9, status: 'error' } as const
  await db.transaction(async (tx) => queueMigrations(tx, newId<CellId>(), [forged]))
  expect(await findMigrationByUuid(db, first.id)).toMatchObject({ status: 'migrating' })

  await db.transaction(async (tx) =>
    queueMigrations(tx, cell, [{ ...first, version: 2, status: 'finished' }]),
  )
  expect(await findMigrationByUuid(db, first.id)).toMatchObject({ status: 'finished' })
})
