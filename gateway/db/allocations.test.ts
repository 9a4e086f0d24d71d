import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import {
  activeView,
  addCell,
  addServer,
  globalDatabase,
  sampleMigration,
} from '#test/env/indexed-servers.ts'
import { consumersOfHost, findConsumer } from './allocations.ts'
import { queueViews } from './server-index.ts'
import { queueMigrations } from './server-migrations.ts'

const [A, B] = [
  { name: 'a', hostId: newId<string>() },
  { name: 'b', hostId: newId<string>() },
]
const [SMALL, LARGE] = [{ VCPU: 1 }, { VCPU: 2 }]

let db: Database
let cell: CellId
let server: string
let version = 1

beforeAll(async () => {
  db = await globalDatabase('allocations')
  cell = await addCell(db, 'north')
})
beforeEach(async () => {
  server = await addServer(db, cell)
})
afterAll(() => db?.[Symbol.asyncDispose]())

const at = ({ name, hostId }: typeof A, held: InstanceView['held']) => ({
  ...{ host: name, hostId, hypervisorHostname: name },
  ...(held && { held }),
})
const says = (change: Partial<InstanceView>) => {
  version += 1
  const view = activeView(server, { version, ...change })
  return db.transaction(async (tx) => queueViews(tx, cell, [view]))
}
const moves = (view: MigrationView) =>
  db.transaction(async (tx) => queueMigrations(tx, cell, [view]))
/** What the server and its migration hold of each host, as `INSTANCE 1`. */
async function heldOn(host: typeof A): Promise<readonly string[]> {
  const found = await consumersOfHost(db, host)
  const own = found.filter(({ id }) => id === server || id === migrationId)
  return own.map(({ type, held }) => `${type} ${held?.['VCPU']}`).toSorted()
}
let migrationId = ''

test('a server on its way to a host holds that one, and its migration the other, until it is over', async () => {
  await says(at(A, SMALL))
  expect([await heldOn(A), await heldOn(B)]).toEqual([['INSTANCE 1'], []])

  const source = { hostId: A.hostId, resources: SMALL }
  const held = { source, dest: { hostId: B.hostId, resources: LARGE } }
  const migration = sampleMigration(server, { status: 'migrating', held })
  migrationId = migration.id
  await moves(migration)
  expect([await heldOn(A), await heldOn(B)]).toEqual([['MIGRATION 1'], ['INSTANCE 2']])

  await says(at(B, LARGE))
  await moves({ ...migration, version: 2, status: 'finished' })
  expect([await heldOn(A), await heldOn(B)]).toEqual([['MIGRATION 1'], ['INSTANCE 2']])
  expect(await findConsumer(db, migrationId)).toMatchObject({ hostId: A.hostId, version: 2 })
  expect(await findConsumer(db, server)).toMatchObject({ hostId: B.hostId, held: LARGE })

  const { held: _, ...over } = migration
  await moves({ ...over, version: 3, status: 'confirmed' })
  expect([await heldOn(A), await heldOn(B)]).toEqual([[], ['INSTANCE 2']])
  expect(await findConsumer(db, migrationId)).toBeUndefined()
})

test('a server that is resized where it is holds its new size, and its migration the former one', async () => {
  await says(at(A, LARGE))
  const held = { source: { hostId: A.hostId, resources: SMALL } }
  const migration = sampleMigration(server, { type: 'resize', destHost: 'a', held })
  migrationId = migration.id
  await moves(migration)

  expect(await heldOn(A)).toEqual(['INSTANCE 2', 'MIGRATION 1'])
})

test('a migration of another cell, and one of a server that is gone, hold nothing', async () => {
  await says(at(A, SMALL))
  const held = { source: { hostId: A.hostId, resources: SMALL } }
  const forged = sampleMigration(server, { held })
  const other = await addCell(db, 'south')
  await db.transaction(async (tx) => queueMigrations(tx, other, [forged]))
  const ofNone = sampleMigration(newId(), { held })
  await moves(ofNone)

  migrationId = forged.id
  expect(await heldOn(A)).toEqual(['INSTANCE 1'])
  migrationId = ofNone.id
  expect(await heldOn(A)).toEqual(['INSTANCE 1'])
  expect(await findConsumer(db, ofNone.id)).toBeUndefined()
})
